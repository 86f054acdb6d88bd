//! Tests of the key tables.
//! May touch: keys, docs/config.md.
//! Must not: sleep.
