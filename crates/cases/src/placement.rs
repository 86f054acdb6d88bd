//! Cases of kind placement: a queue tree, rules, and where applications go.
//! May touch: `capacity_scheduler::placement`.
//! Must not: know the scheduler.

use std::collections::BTreeMap;

use capacity_scheduler::placement::{
    Action, DEFAULT_QUEUE, Fallback, Matcher, PlacementContext, QueueKind, QueueNames, REJECTED,
    RawRules, Rule, Rules,
};
use serde::Deserialize;

use crate::report::Failure;

/// A case of this kind.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "named as in the format")]
pub struct PlacementBody {
    pub queues: Queues,
    pub partial_tree: bool,
    pub user_groups: BTreeMap<String, Vec<String>>,
    pub override_queue: bool,
    pub rules: Vec<RuleLine>,
    pub tests: Vec<Test>,
    pub strict: bool,
    pub load_error: Option<bool>,
    pub parse: Vec<Parse>,
}

/// The tree, by kind of queue; queues above the listed ones are parents.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Queues {
    /// Leaves.
    pub leaf: Vec<String>,
    /// v1 parents.
    pub managed: Vec<String>,
    /// v2 parents.
    pub dynamic: Vec<String>,
    /// Parents without leaves.
    pub parent: Vec<String>,
}

/// Whom a rule matches.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// All.
    All,
    /// A user.
    User(String),
    /// A group.
    Group(String),
    /// An application's name.
    #[serde(alias = "app")]
    Application(String),
}

/// What happens when a rule's queue cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackName {
    /// The next rule decides.
    Skip,
    /// To the default queue.
    #[serde(alias = "placeDefault", alias = "default")]
    PlaceDefault,
    /// Refused.
    Reject,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "named as in the format")]
pub struct RuleLine {
    pub legacy: Option<String>,
    #[serde(rename = "match")]
    pub matcher: Option<Match>,
    pub place: Option<String>,
    pub create: Option<bool>,
    pub fallback: Option<FallbackName>,
    pub set_default: Option<String>,
    pub set_variable: BTreeMap<String, String>,
    pub reject: bool,
}

/// One submission.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "named as in the format")]
pub struct Test {
    pub user: String,
    pub app: Option<String>,
    #[serde(alias = "app_queue")]
    pub queue: Option<String>,
    pub expect: String,
    pub message: Option<String>,
}

/// Syntax alone.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "named as in the format")]
pub struct Parse {
    pub conf: BTreeMap<String, String>,
    pub expect: Option<Vec<RuleLine>>,
    pub error: Option<ParseError>,
}

/// `true`, or part of the text.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ParseError {
    /// Whether there is an error.
    Any(bool),
    /// Part of its text.
    Text(String),
}

impl RuleLine {
    fn rule(&self) -> Result<Rule, String> {
        if let Some(mapping) = &self.legacy {
            return Rule::legacy(mapping);
        }
        let matcher = match self.matcher.clone().ok_or("a rule without match")? {
            Match::All => Matcher::All,
            Match::User(name) => Matcher::User(name),
            Match::Group(name) => Matcher::Group(name),
            Match::Application(name) => Matcher::Application(name),
        };
        let set = |variable: &str, value: &str| Action::Set {
            variable: variable.to_owned(),
            value: value.to_owned(),
        };
        let action = if let Some(queue) = &self.place {
            Action::Place {
                queue: queue.clone(),
                create: self.create.unwrap_or(true),
            }
        } else if let Some(queue) = &self.set_default {
            set("%default", queue)
        } else if let Some((variable, value)) = self.set_variable.first_key_value() {
            set(variable, value)
        } else if self.reject {
            Action::Reject
        } else {
            return Err("a rule that does nothing".to_owned());
        };
        let fallback = match self.fallback {
            None | Some(FallbackName::Skip) => Fallback::Skip,
            Some(FallbackName::PlaceDefault) => Fallback::PlaceDefault,
            Some(FallbackName::Reject) => Fallback::Reject,
        };
        Ok(Rule {
            matcher,
            action,
            fallback,
        })
    }

    /// Whether a parsed rule has what this line names.
    fn describes(&self, rule: &Rule) -> bool {
        let Ok(mine) = self.rule() else { return false };
        let same_fallback = self.fallback.is_none() || mine.fallback == rule.fallback;
        let same_action = match (&mine.action, &rule.action) {
            (
                Action::Place { queue, create },
                Action::Place {
                    queue: other,
                    create: other_create,
                },
            ) => queue == other && (self.create.is_none() || create == other_create),
            (a, b) => a == b,
        };
        mine.matcher == rule.matcher && same_action && same_fallback
    }
}

impl Queues {
    fn names(&self) -> QueueNames {
        let mut names = QueueNames::default();
        let kinds = [
            (&self.leaf, QueueKind::Leaf),
            (&self.managed, QueueKind::Managed),
            (&self.dynamic, QueueKind::Parent { dynamic: true }),
            (&self.parent, QueueKind::Parent { dynamic: false }),
        ];
        for path in kinds.iter().flat_map(|(paths, _)| *paths) {
            let mut path = path.as_str();
            while let Some((parent, _)) = path.rsplit_once('.') {
                names.insert(parent, QueueKind::Parent { dynamic: false });
                path = parent;
            }
        }
        for (paths, kind) in kinds {
            for path in paths {
                names.insert(path, kind);
            }
        }
        names
    }
}

/// Runs a case of this kind.
pub fn run(body: &PlacementBody) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (i, parse) in body.parse.iter().enumerate() {
        failures.extend(run_parse(i, parse));
    }
    let rules: Result<Vec<Rule>, String> = body.rules.iter().map(RuleLine::rule).collect();
    let rules = match rules {
        Ok(rules) => rules,
        Err(text) => {
            failures.push(Failure::new("rules", "rules that can be read", text));
            return failures;
        }
    };
    let names = body.queues.names();
    let checked = Rules::checked(rules.clone(), body.override_queue, &names);
    if let Some(refused) = body.load_error {
        let got = match &checked {
            Ok(_) => "loaded".to_owned(),
            Err(problems) => problems[0].message.clone(),
        };
        if refused != checked.is_err() {
            let expected = if refused { "a refusal" } else { "loaded" };
            failures.push(Failure::new("load", expected, got));
        }
    }
    let rules = match checked {
        Ok(rules) => rules,
        // Hadoop's tests of placement switch the check off
        Err(_) if !body.strict => Rules::new(rules, body.override_queue),
        Err(_) => return failures,
    };
    for (i, test) in body.tests.iter().enumerate() {
        failures.extend(run_test(i, test, body, &rules));
    }
    failures
}

fn run_parse(i: usize, parse: &Parse) -> Option<Failure> {
    let step = format!("parse {}", i + 1);
    match (RawRules::read(&parse.conf).rules(), &parse.error) {
        (Err(_), Some(ParseError::Any(true))) => None,
        (Err(problem), Some(ParseError::Text(text))) if problem.message.contains(text) => None,
        (Err(problem), None) => Some(Failure::new(step, "rules", problem.message)),
        (Err(problem), Some(error)) => Some(Failure::new(
            step,
            format!("error {error:?}"),
            problem.message,
        )),
        (Ok(_), Some(ParseError::Any(true) | ParseError::Text(_))) => {
            Some(Failure::new(step, "a refusal", "rules"))
        }
        (Ok(rules), _) => {
            let lines = parse.expect.as_deref().unwrap_or_default();
            let same = lines.len() == rules.len()
                && lines
                    .iter()
                    .zip(&rules)
                    .all(|(line, rule)| line.describes(rule));
            (!same).then(|| {
                let shown: Vec<_> = rules.iter().map(ToString::to_string).collect();
                Failure::new(step, format!("{lines:?}"), shown.join("; "))
            })
        }
    }
}

fn run_test(i: usize, test: &Test, body: &PlacementBody, rules: &Rules) -> Option<Failure> {
    let step = format!("test {} (user {})", i + 1, test.user);
    let queue = test.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
    let mut names = body.queues.names();
    if body.partial_tree && test.expect == "unchanged" && queue == DEFAULT_QUEUE {
        // the queue that the application stays in is there, though not listed
        names.insert("root.default", QueueKind::Leaf);
    }
    let none = Vec::new();
    let app = PlacementContext {
        user: &test.user,
        groups: body.user_groups.get(&test.user).unwrap_or(&none),
        app_name: test.app.as_deref().unwrap_or_default(),
        queue,
        recovery: false,
    };
    let placed = rules.place(&app, &names);
    let (got, text) = match &placed {
        Ok(Some(placed)) => (placed.queue.clone(), String::new()),
        Ok(None) => ("none".to_owned(), String::new()),
        Err(rejected) => ("reject".to_owned(), rejected.reason.clone()),
    };
    let stays = got == "none" || got == queue || got.rsplit('.').next() == Some(queue);
    let right = match test.expect.as_str() {
        "unchanged" => stays,
        "reject" => {
            let part = test.message.as_deref().unwrap_or_default();
            got == "reject" && REJECTED.contains(part)
        }
        expected => got == expected,
    };
    (!right).then(|| {
        let got = if text.is_empty() {
            got
        } else {
            format!("{got}: {text}")
        };
        Failure::new(step, test.expect.clone(), got)
    })
}
