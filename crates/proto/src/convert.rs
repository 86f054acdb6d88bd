//! Conversions between wire messages and `yarn-types`.
//! May touch: records.
//! Must not: fill in defaults that the caller should decide.
