//! x
//! May touch: the module under test.
//! Must not: read files.
