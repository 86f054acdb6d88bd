//! Which applications `/apps` shows: its query parameters, read and applied.
//! May touch: the read model.
//! Must not: look anything up.

use rm_core::view::{AppReport, QueueReport};
use yarn_types::{ApplicationState, FinalStatus};

use super::is_within;

/// Why a query is refused.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum BadQuery {
    /// Hadoop's `BadRequestException`.
    BadRequest(String),
    /// Java's `IllegalArgumentException`.
    IllegalArgument(String),
}

/// The parameters of `/apps`; empty lists and `None` let everything through.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Filter {
    states: Vec<ApplicationState>,
    final_status: Option<FinalStatus>,
    user: Option<String>,
    queue: Option<String>,
    name: Option<String>,
    /// Compared without regard to case.
    types: Vec<String>,
    /// Compared without regard to case; one in common is enough.
    tags: Vec<String>,
    started: Range,
    finished: Range,
    /// Most applications in the answer.
    pub limit: Option<usize>,
    /// What the answer leaves out.
    pub deselected: Deselected,
}

/// Wall milliseconds, both ends included.
#[derive(PartialEq, Eq, Debug)]
struct Range {
    begin: i64,
    end: i64,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            begin: 0,
            end: i64::MAX,
        }
    }
}

/// `DeSelectFields`.
#[allow(clippy::struct_excessive_bools, reason = "four independent switches")]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Deselected {
    pub resource_requests: bool,
    pub timeouts: bool,
    pub app_label: bool,
    pub am_label: bool,
    pub resource_info: bool,
}

impl Range {
    fn holds(&self, wall_ms: i64) -> bool {
        (self.begin..=self.end).contains(&wall_ms)
    }

    /// `key` is how the parameters are called, `short` how Hadoop's refusals call them.
    fn check(&self, key: &str, short: &str) -> Result<(), BadQuery> {
        let text = if self.begin < 0 {
            format!("{key}Begin must be greater than 0")
        } else if self.end < 0 {
            format!("{key}End must be greater than 0")
        } else if self.begin > self.end {
            format!("{key}End must be greater than {short}Begin")
        } else {
            return Ok(());
        };
        Err(BadQuery::BadRequest(text))
    }
}

fn number(key: &str, text: &str) -> Result<i64, BadQuery> {
    text.parse()
        .map_err(|_| BadQuery::BadRequest(format!("{key} value must be a number!")))
}

/// The parts of a comma list, without blanks.
pub(super) fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

/// `[NEW, NEW_SAVING, …]`.
fn all_states() -> String {
    let names = ApplicationState::ALL.iter().map(|s| s.as_str());
    format!("[{}]", names.collect::<Vec<_>>().join(", "))
}

/// A comma list of states, whatever their case, each once.
///
/// # Errors
/// There is no such state.
pub(super) fn states(text: &str) -> Result<Vec<ApplicationState>, BadQuery> {
    let mut states = Vec::new();
    for name in list(text) {
        let state = ApplicationState::parse(&name.to_ascii_uppercase()).ok_or_else(|| {
            BadQuery::BadRequest(format!(
                "Invalid application-state {name} specified. It should be one of {}",
                all_states()
            ))
        })?;
        if !states.contains(&state) {
            states.push(state);
        }
    }
    Ok(states)
}

impl Filter {
    /// Reads `pairs`; unknown names have no effect, as in Hadoop.
    ///
    /// # Errors
    /// A value that Hadoop refuses, in its words.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, BadQuery> {
        let mut filter = Self::default();
        for (key, value) in pairs {
            if !value.is_empty() {
                filter.add(key, value)?;
            }
        }
        filter.started.check("startedTime", "startTime")?;
        filter.finished.check("finishTime", "finishTime")?;
        Ok(filter)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), BadQuery> {
        let text = || Some(value.to_owned());
        match key {
            "state" | "states" => self.add_states(value)?,
            "finalStatus" => {
                self.final_status = Some(FinalStatus::parse(value).ok_or_else(|| {
                    BadQuery::IllegalArgument(format!(
                        "No enum constant org.apache.hadoop.yarn.api.records.FinalApplicationStatus.{value}"
                    ))
                })?);
            }
            "user" => self.user = text(),
            "queue" => self.queue = text(),
            "name" => self.name = text(),
            "applicationTypes" => self.types.extend(list(value).map(str::to_owned)),
            "applicationTags" => self.tags.extend(list(value).map(str::to_owned)),
            "startedTimeBegin" => self.started.begin = number(key, value)?,
            "startedTimeEnd" => self.started.end = number(key, value)?,
            "finishedTimeBegin" => self.finished.begin = number(key, value)?,
            "finishedTimeEnd" => self.finished.end = number(key, value)?,
            "limit" => {
                let limit = number(key, value)?;
                if limit <= 0 {
                    let text = "limit value must be greater then 0".to_owned();
                    return Err(BadQuery::BadRequest(text));
                }
                self.limit = Some(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            "deSelects" => self.add_deselected(value)?,
            _ => {}
        }
        Ok(())
    }

    fn add_states(&mut self, value: &str) -> Result<(), BadQuery> {
        self.states.extend(states(value)?);
        Ok(())
    }

    fn add_deselected(&mut self, value: &str) -> Result<(), BadQuery> {
        let names = [
            "resourceRequests",
            "timeouts",
            "appNodeLabelExpression",
            "amNodeLabelExpression",
            "resourceInfo",
        ];
        for name in list(value) {
            match names.iter().position(|n| n.eq_ignore_ascii_case(name)) {
                Some(0) => self.deselected.resource_requests = true,
                Some(1) => self.deselected.timeouts = true,
                Some(2) => self.deselected.app_label = true,
                Some(3) => self.deselected.am_label = true,
                Some(_) => self.deselected.resource_info = true,
                None => {
                    return Err(BadQuery::BadRequest(format!(
                        "Invalid deSelects string {name} specified. It should be one of [{}]",
                        names.join(", ")
                    )));
                }
            }
        }
        Ok(())
    }

    /// The path of the queue that is asked for.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn queue_path<'a>(
        &self,
        queues: impl Iterator<Item = &'a QueueReport>,
    ) -> Result<Option<&'a str>, BadQuery> {
        let Some(wanted) = &self.queue else {
            return Ok(None);
        };
        let mut by_name = None;
        for queue in queues {
            if queue.path == *wanted {
                return Ok(Some(&queue.path));
            }
            if queue.name == *wanted {
                by_name = by_name.or(Some(&*queue.path));
            }
        }
        match by_name {
            Some(path) => Ok(Some(path)),
            None => Err(BadQuery::BadRequest(format!("Unknown queue: {wanted}"))),
        }
    }

    /// Whether `app` is shown; `queue` is the path that [`Filter::queue_path`] found.
    pub fn shows(&self, app: &AppReport, queue: Option<&str>) -> bool {
        let any_of = |list: &[String], text: &str| {
            list.is_empty() || list.iter().any(|one| one.eq_ignore_ascii_case(text))
        };
        (self.states.is_empty() || self.states.contains(&app.state))
            && self.final_status.is_none_or(|s| s == app.final_status)
            && self.user.as_ref().is_none_or(|user| **user == *app.user)
            && self.name.as_ref().is_none_or(|name| *name == app.name)
            && any_of(&self.types, &app.application_type)
            && (self.tags.is_empty() || app.tags.iter().any(|tag| any_of(&self.tags, tag)))
            && self.started.holds(app.started_wall_ms)
            && self.finished.holds(app.finished_wall_ms)
            && queue.is_none_or(|path| is_within(&app.queue, path))
    }
}

#[cfg(test)]
#[path = "filter_test.rs"]
mod tests;
