//! Which queue an application goes to: queue mappings and JSON placement rules.
//! May touch: the rules and a read-only view of the queue tree.
//! Must not: create queues or look up groups (both come from the caller).

mod check;
mod json;
mod legacy;
mod names;
mod rule;
mod tag;
mod target;
mod variables;
mod workflow;

pub use names::QueueNames;
pub use rule::{Action, Fallback, Matcher, Rule};
pub use tag::TagPlacement;
pub use workflow::{WORKFLOW_MAPPINGS, WORKFLOW_OVERRIDE, WORKFLOW_TAG_PREFIX, WorkflowPriorities};

use rule::Outcome;
use target::normalize;
use variables::Variables;
use yarn_types::Lookup;

/// `yarn.scheduler.queue-placement-rules`.
pub const PLACEMENT_RULES: &str = "yarn.scheduler.queue-placement-rules";
/// Mappings of applications' names, two parts each.
pub const APP_NAME_MAPPINGS: &str = "yarn.scheduler.queue-placement-rules.app-name";
/// `u:` and `g:` mappings.
pub const QUEUE_MAPPINGS: &str = "yarn.scheduler.capacity.queue-mappings";
/// Whether mappings win over the queue that the client named.
pub const OVERRIDE: &str = "yarn.scheduler.capacity.queue-mappings-override.enable";
/// `legacy` or `json`.
pub const FORMAT: &str = "yarn.scheduler.capacity.mapping-rule-format";
/// JSON rules in place.
pub const JSON: &str = "yarn.scheduler.capacity.mapping-rule-json";
/// Path of a file with JSON rules.
pub const JSON_FILE: &str = "yarn.scheduler.capacity.mapping-rule-json-file";

/// The queue of a client that names none (`YarnConfiguration.DEFAULT_QUEUE_NAME`).
pub const DEFAULT_QUEUE: &str = "default";
/// What a client reads when a rule refuses it; details stay in the log (`CSMappingPlacementRule`).
pub const REJECTED: &str =
    "Application submission have been rejected by a mapping rule. Please see the logs for details";

/// What a queue is to a placement rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// Takes applications.
    Leaf,
    /// Has children; `dynamic` when queues may be created below it
    /// (`auto-queue-creation-v2.enabled` and eligible).
    Parent {
        /// Whether queues may be created below.
        dynamic: bool,
    },
    /// Creates leaves from a template (`auto-create-child-queue.enabled`).
    Managed,
}

/// A queue that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueRef {
    /// Full path, as `root.a.b`.
    pub path: String,
    /// What it is.
    pub kind: QueueKind,
}

/// What the rules need to know of the queue tree (`CSQueueStore`).
pub trait QueueLookup {
    /// The queue with this full path, or with this short name if only one has it.
    fn find(&self, name: &str) -> Option<QueueRef>;

    /// Whether several queues have this short name.
    fn is_ambiguous(&self, name: &str) -> bool;
}

/// One submission.
#[derive(Clone, Copy, Debug)]
pub struct PlacementContext<'a> {
    /// Whose groups and name count: the submitter, or the user of its tag.
    pub user: &'a str,
    /// Its groups, the primary one first; empty if there are none.
    pub groups: &'a [String],
    /// Name of the application.
    pub app_name: &'a str,
    /// The queue that the client named; [`DEFAULT_QUEUE`] for none.
    pub queue: &'a str,
    /// Whether the application is brought back after a restart: it then stays where it was.
    pub recovery: bool,
}

/// Where an application goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Full path of the leaf.
    pub queue: String,
    /// Whether the leaf must be created first.
    pub create: bool,
}

/// A refusal by a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// For the log: which rule, and why it did not fit. The client reads [`REJECTED`] alone.
    pub reason: String,
}

/// A setting of placement that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The key.
    pub key: &'static str,
    /// Hadoop's text.
    pub message: String,
}

/// The settings as they stand in the configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct RawRules {
    /// [`PLACEMENT_RULES`].
    pub placement_rules: Option<String>,
    /// [`OVERRIDE`].
    pub override_queue: bool,
    /// [`FORMAT`].
    pub format: Option<String>,
    /// [`QUEUE_MAPPINGS`].
    pub queue_mappings: Option<String>,
    /// [`APP_NAME_MAPPINGS`].
    pub app_name_mappings: Option<String>,
    /// [`JSON`].
    pub json: Option<String>,
    /// [`JSON_FILE`].
    pub json_file: Option<String>,
    /// What stands in that file, or why it cannot be read; read by the shell.
    pub json_file_text: Option<Result<String, String>>,
}

impl RawRules {
    /// Reads the settings; the text of [`JSON_FILE`] is the shell's to add.
    pub fn read(conf: &dyn Lookup) -> Self {
        let on = |key| {
            conf.get(key)
                .is_some_and(|v| v.trim().eq_ignore_ascii_case("true"))
        };
        Self {
            placement_rules: conf.get(PLACEMENT_RULES),
            override_queue: on(OVERRIDE),
            format: conf.get(FORMAT),
            queue_mappings: conf.get(QUEUE_MAPPINGS),
            app_name_mappings: conf.get(APP_NAME_MAPPINGS),
            json: conf.get(JSON),
            json_file: conf.get(JSON_FILE),
            json_file_text: None,
        }
    }

    /// The file to read before [`Rules::parse`], if the rules stand in one.
    pub fn needs_file(&self) -> Option<&str> {
        let json = self.format.as_deref() == Some("json");
        let inline = self.json.as_deref().unwrap_or_default();
        let file = self.json_file.as_deref().unwrap_or_default();
        (json && inline.is_empty() && !file.is_empty()).then(|| file.trim())
    }

    /// The rules as written, not checked against a tree.
    ///
    /// # Errors
    /// The first that is malformed.
    pub fn rules(&self) -> Result<Vec<Rule>, Problem> {
        match self.format.as_deref().unwrap_or("legacy") {
            "legacy" => legacy::parse(
                self.queue_mappings.as_deref().unwrap_or_default(),
                self.app_name_mappings.as_deref().unwrap_or_default(),
            ),
            "json" => self.json_rules().map_err(|message| Problem {
                key: self.key(),
                message,
            }),
            other => Err(Problem {
                key: FORMAT,
                message: format!(
                    "Illegal queue mapping format '{other}' please use 'legacy' or 'json'"
                ),
            }),
        }
    }

    fn json_rules(&self) -> Result<Vec<Rule>, String> {
        let inline = self.json.as_deref().unwrap_or_default();
        if !inline.is_empty() {
            return json::parse(inline);
        }
        match (self.needs_file(), &self.json_file_text) {
            (None, _) => Ok(Vec::new()),
            (Some(_), Some(Ok(text))) => json::parse(text),
            (Some(_), Some(Err(message))) => Err(message.clone()),
            (Some(file), None) => Err(format!("{file} was not read")),
        }
    }

    /// The key that the rules stand under.
    fn key(&self) -> &'static str {
        match self.format.as_deref() {
            Some("json") if self.needs_file().is_some() => JSON_FILE,
            Some("json") => JSON,
            _ => QUEUE_MAPPINGS,
        }
    }
}

/// All rules in order (`CSMappingPlacementRule`).
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Rules {
    rules: Vec<Rule>,
    override_queue: bool,
}

impl Rules {
    /// Parses the settings and checks every rule against the tree, as at start and refresh.
    ///
    /// # Errors
    /// Everything found, in the order in which Hadoop would meet it.
    pub fn parse(raw: &RawRules, tree: &dyn QueueLookup) -> Result<Self, Vec<Problem>> {
        let mut problems = rule_names(raw.placement_rules.as_deref());
        let rules = match raw.rules() {
            Ok(rules) => rules,
            Err(problem) => {
                problems.push(problem);
                Vec::new()
            }
        };
        match Self::checked(rules, raw.override_queue, tree) {
            Ok(rules) if problems.is_empty() => Ok(rules),
            Ok(_) => Err(problems),
            Err(wrong) => {
                let key = raw.key();
                problems.extend(wrong.into_iter().map(|problem| Problem { key, ..problem }));
                Err(problems)
            }
        }
    }

    /// Rules that are checked against the tree.
    ///
    /// # Errors
    /// What is wrong with each.
    pub fn checked(
        rules: Vec<Rule>,
        override_queue: bool,
        tree: &dyn QueueLookup,
    ) -> Result<Self, Vec<Problem>> {
        let wrong = check::check(&rules, tree);
        if wrong.is_empty() {
            return Ok(Self::new(rules, override_queue));
        }
        let key = QUEUE_MAPPINGS;
        let problem = |message| Problem { key, message };
        Err(wrong.into_iter().map(problem).collect())
    }

    /// Rules that need no check.
    pub fn new(rules: Vec<Rule>, override_queue: bool) -> Self {
        Self {
            rules,
            override_queue,
        }
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Where the application goes; `None` when no rule places it and the queue that the client
    /// named stands.
    ///
    /// # Errors
    /// A rule refuses it.
    pub fn place(
        &self,
        app: &PlacementContext<'_>,
        tree: &dyn QueueLookup,
    ) -> Result<Option<Placed>, Rejected> {
        let named = app.queue != DEFAULT_QUEUE;
        if named && !self.override_queue && !app.recovery {
            return Ok(None);
        }
        let mut variables = Variables::of(app);
        for rule in &self.rules {
            let placed = match rule.evaluate(&mut variables, tree) {
                Outcome::Skip => continue,
                Outcome::Reject(why) => return Err(rejected(rule, &why)),
                Outcome::Place(placed) => placed,
                Outcome::PlaceDefault(why) => {
                    let default = variables.replace_path("%default", tree);
                    normalize(&default, false, tree)
                        .map_err(|e| rejected(rule, &format!("{why}; {e}")))?
                }
            };
            let leaf = placed.queue.rsplit('.').next().unwrap_or_default();
            let moved = app.recovery && leaf != app.queue;
            return Ok((!moved).then_some(placed));
        }
        Ok(None)
    }
}

fn rejected(rule: &Rule, why: &str) -> Rejected {
    let why = if why.is_empty() { "by its policy" } else { why };
    Rejected {
        reason: format!("refused by mapping rule {rule}: {why}"),
    }
}

/// The names in [`PLACEMENT_RULES`] (`CapacitySchedulerConfigValidator.validatePlacementRules`).
fn rule_names(value: Option<&str>) -> Vec<Problem> {
    let mut seen: Vec<&str> = Vec::new();
    let mut problems = Vec::new();
    let mut problem = |message: String| {
        problems.push(Problem {
            key: PLACEMENT_RULES,
            message,
        });
    };
    for name in value.unwrap_or_default().split(',') {
        if name.is_empty() {
            continue;
        }
        if seen.contains(&name) {
            problem(
                "Invalid PlacementRule inputs which contains duplicate rule strings".to_owned(),
            );
        } else if !["user-group", "app-name"].contains(&name) {
            problem(format!(
                "{name} is not a placement rule that is built in; use user-group or app-name"
            ));
        }
        seen.push(name);
    }
    problems
}

#[cfg(test)]
#[path = "placement_test.rs"]
mod tests;
