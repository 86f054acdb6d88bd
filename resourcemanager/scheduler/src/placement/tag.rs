//! Placement for the user that an application's tag names (`RMAppManager.getUserNameForPlacement`).
//! May touch: text.
//! Must not: look up groups or queues; the caller checks that the named user may submit there.

use yarn_types::Lookup;

/// Key that turns it on.
pub const TAG_PLACEMENT: &str = "yarn.resourcemanager.application-tag-based-placement.enable";
/// Users whose tags are believed.
pub const TAG_WHITELIST: &str =
    "yarn.resourcemanager.application-tag-based-placement.username.whitelist";

/// Who may submit for another user's queue by a tag.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TagPlacement {
    enabled: bool,
    whitelist: Vec<String>,
}

impl TagPlacement {
    /// Reads [`TAG_PLACEMENT`] and [`TAG_WHITELIST`].
    pub fn read(conf: &dyn Lookup) -> Self {
        let enabled = conf.get(TAG_PLACEMENT);
        let list = conf.get(TAG_WHITELIST).unwrap_or_default();
        Self {
            enabled: enabled.is_some_and(|v| v.trim().eq_ignore_ascii_case("true")),
            // not trimmed, as by Configuration.getStrings
            whitelist: list.split(',').map(str::to_owned).collect(),
        }
    }

    /// The user of the first well-formed tag `userid=NAME`, if `submitter`'s tags are believed.
    /// It counts only where that user is placed and may submit; else the submitter is placed.
    pub fn user<'a>(
        &self,
        submitter: &str,
        tags: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let believed = self.whitelist.iter().any(|user| user == submitter);
        if !self.enabled || !believed {
            return None;
        }
        let name_of = |tag: &'a str| {
            let name = tag.strip_prefix("userid=")?.trim_end_matches('=');
            (!name.is_empty() && !name.contains('=')).then_some(name)
        };
        tags.into_iter().find_map(name_of)
    }
}
