//! Tests of expand.
//! May touch: expand.
//! Must not: sleep.
