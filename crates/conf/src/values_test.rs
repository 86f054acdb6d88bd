//! Tests of values.
//! May touch: values.
//! Must not: sleep.
