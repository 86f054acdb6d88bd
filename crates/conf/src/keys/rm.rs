//! Keys that the ResourceManager alone honours.
//! May touch: one table.
//! Must not: hold NodeManager keys.

use super::Key;

pub(super) const GROUPS: &[(&str, &[Key])] = &[];
