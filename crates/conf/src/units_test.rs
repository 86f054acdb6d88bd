//! Tests of units.
//! May touch: units.
//! Must not: sleep.
