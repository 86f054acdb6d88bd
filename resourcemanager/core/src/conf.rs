//! What the core needs of the configuration, parsed once.
//! May touch: `yarn_types::Lookup`.
//! Must not: read files.

/// The parsed queue hierarchy of capacity-scheduler.xml.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuesConf {}
