//! Tests of the gate.
//! May touch: gate.
//! Must not: sleep.
