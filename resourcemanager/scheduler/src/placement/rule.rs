//! One mapping rule: whom it matches, what it does, and what happens when that is not possible.
//! May touch: variables and the queue tree, read only.
//! Must not: know the formats in which rules are written.

use std::fmt;

use super::{Placed, QueueLookup, legacy, target::normalize, variables::Variables};

/// Which submissions a rule applies to (`MappingRuleMatchers`).
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Matcher {
    /// All.
    All,
    /// Those of a user.
    User(String),
    /// Those of the members of a group, primary or secondary.
    Group(String),
    /// Those of an application's name.
    Application(String),
}

/// What a rule does (`MappingRuleActions`).
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Action {
    /// Places the application.
    Place {
        /// Path or short name; parts may be variables.
        queue: String,
        /// Whether the queue may be created.
        create: bool,
    },
    /// Sets a variable for the rules that follow.
    Set {
        /// Name with its `%`.
        variable: String,
        /// Value; may hold variables.
        value: String,
    },
    /// Refuses the application.
    Reject,
}

/// What happens when a rule's queue cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub enum Fallback {
    /// The next rule decides.
    #[default]
    Skip,
    /// The application goes to `%default`.
    PlaceDefault,
    /// The application is refused.
    Reject,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rule {
    /// Whom it matches.
    pub matcher: Matcher,
    /// What it does.
    pub action: Action,
    /// What happens when that is not possible.
    pub fallback: Fallback,
}

/// What a rule came to; texts are for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Place(Placed),
    PlaceDefault(String),
    Reject(String),
    Skip,
}

impl Matcher {
    fn matches(&self, variables: &Variables<'_>) -> bool {
        match self {
            Self::All => true,
            Self::User(user) => variables.replace(user) == variables.compared("%user"),
            Self::Group(group) => variables.in_group(&variables.replace(group)),
            Self::Application(name) => {
                variables.replace(name) == variables.compared("%application")
            }
        }
    }
}

impl Rule {
    /// One `u:…:…` or `g:…:…` of `queue-mappings`.
    ///
    /// # Errors
    /// Hadoop's text.
    pub fn legacy(mapping: &str) -> Result<Self, String> {
        legacy::user_or_group(mapping)
    }

    pub(super) fn evaluate(
        &self,
        variables: &mut Variables<'_>,
        tree: &dyn QueueLookup,
    ) -> Outcome {
        if !self.matcher.matches(variables) {
            return Outcome::Skip;
        }
        match &self.action {
            Action::Reject => Outcome::Reject(String::new()),
            Action::Set { variable, value } => {
                let value = variables.replace(value);
                variables.set(variable, value);
                Outcome::Skip
            }
            Action::Place { queue, create } => {
                let queue = variables.replace_path(queue, tree);
                match (normalize(&queue, *create, tree), self.fallback) {
                    (Ok(placed), _) => Outcome::Place(placed),
                    (Err(_), Fallback::Skip) => Outcome::Skip,
                    (Err(why), Fallback::PlaceDefault) => Outcome::PlaceDefault(why),
                    (Err(why), Fallback::Reject) => Outcome::Reject(why),
                }
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.matcher {
            Matcher::All => write!(f, "for all: ")?,
            Matcher::User(name) => write!(f, "for user {name}: ")?,
            Matcher::Group(name) => write!(f, "for group {name}: ")?,
            Matcher::Application(name) => write!(f, "for application {name}: ")?,
        }
        match &self.action {
            Action::Place { queue, .. } => write!(f, "place in {queue}"),
            Action::Set { variable, value } => write!(f, "set {variable} to {value}"),
            Action::Reject => write!(f, "reject"),
        }
    }
}
