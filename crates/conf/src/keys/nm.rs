//! Keys that the NodeManager alone honours.
//! May touch: one table.
//! Must not: hold ResourceManager keys.

use super::Key;

pub(super) const GROUPS: &[(&str, &[Key])] = &[];
