//! Tests.
//! May touch: the tested module.
//! Must not: sleep.
