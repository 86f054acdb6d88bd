//! Small pictures for the tests of the monitor.
//! May touch: snapshots.
//! Must not: hold expectations.
