//! Tests of load.
//! May touch: load.
//! Must not: sleep.
