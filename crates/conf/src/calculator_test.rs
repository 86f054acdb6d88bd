//! Tests of calculator.
//! May touch: calculator.
//! Must not: sleep.
