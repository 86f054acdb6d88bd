//! capacity-scheduler.xml and the scheduler's keys of yarn-site.xml as typed values.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files, or ignore a setting whose behaviour is not built (it is refused by name).
