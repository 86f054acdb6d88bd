//! Variables of one placement (`VariableContext`).
//! May touch: the submission and the queue tree, read only.
//! Must not: outlive the submission.

use std::collections::BTreeMap;

use super::{DEFAULT_QUEUE, PlacementContext, QueueLookup};

/// Variables that no rule may set.
pub(super) const IMMUTABLE: &[&str] = &[
    "%user",
    "%primary_group",
    "%secondary_group",
    "%application",
    "%specified",
];

const SECONDARY_GROUP: &str = "%secondary_group";

/// What the variables stand for while the rules run.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    values: BTreeMap<String, String>,
    /// The user's name before its dots were replaced.
    user: &'a str,
    groups: &'a [String],
    /// Candidates of `%secondary_group`, which depends on where it stands; empty if it is plain.
    secondary: Vec<String>,
}

impl<'a> Variables<'a> {
    /// The variables of a submission.
    pub fn of(app: &PlacementContext<'a>) -> Self {
        let mut values = BTreeMap::new();
        let mut put = |name: &str, value: String| {
            values.insert(name.to_owned(), value);
        };
        put("%user", clean(app.user));
        // empty rather than undefined, so that the rule falls back
        let named = if app.queue == DEFAULT_QUEUE {
            ""
        } else {
            app.queue
        };
        put("%specified", named.to_owned());
        put("%application", app.app_name.to_owned());
        put("%default", "root.default".to_owned());
        let mut groups = app.groups.iter();
        let mut secondary = Vec::new();
        if let Some(primary) = groups.next() {
            put("%primary_group", clean(primary));
            secondary = groups.map(|group| clean(group)).collect();
            if secondary.is_empty() {
                put(SECONDARY_GROUP, String::new());
            }
        }
        Self {
            values,
            user: app.user,
            groups: app.groups,
            secondary,
        }
    }

    /// Sets a variable that is not immutable.
    pub fn set(&mut self, name: &str, value: String) {
        if !IMMUTABLE.contains(&name) {
            self.values.insert(name.to_owned(), value);
        }
    }

    /// The value that matchers compare: the user's own name, else the variable's value.
    pub fn compared(&self, name: &str) -> &str {
        if name == "%user" {
            return self.user;
        }
        self.values.get(name).map_or("", String::as_str)
    }

    /// Whether the user is in this group, by its name before dots were replaced.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Replaces every variable anywhere in a text, the longest names first.
    pub fn replace(&self, text: &str) -> String {
        let mut names: Vec<_> = self.values.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
            .into_iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(name.as_str(), value)
            })
    }

    /// Replaces those parts of a queue path that are a variable as a whole.
    pub fn replace_path(&self, path: &str, tree: &dyn QueueLookup) -> String {
        let mut parts: Vec<String> = split(path).into_iter().map(str::to_owned).collect();
        for i in 0..parts.len() {
            let part = parts[i].as_str();
            if let Some(value) = self.values.get(part) {
                parts[i].clone_from(value);
            } else if part == SECONDARY_GROUP && !self.secondary.is_empty() {
                parts[i] = self.secondary_group(&parts[..i], tree);
            }
        }
        parts.join(".")
    }

    /// The first secondary group that has a queue below the parts before it.
    fn secondary_group(&self, before: &[String], tree: &dyn QueueLookup) -> String {
        let prefix: String = before.iter().flat_map(|part| [part, "."]).collect();
        let has_queue = |group: &&String| tree.find(&format!("{prefix}{group}")).is_some();
        let found = self.secondary.iter().find(has_queue);
        found.cloned().unwrap_or_default()
    }
}

/// Dots would be levels of the tree.
fn clean(name: &str) -> String {
    name.replace('.', "_dot_")
}

/// Splits as Java does: empty parts at the end are dropped.
pub(super) fn split(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split('.').collect();
    while parts.len() > 1 && parts.last() == Some(&"") {
        parts.pop();
    }
    parts
}
