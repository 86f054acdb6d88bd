//! Tests of killable.rs.
//! May touch: small pictures built by hand.
//! Must not: depend on case files.
