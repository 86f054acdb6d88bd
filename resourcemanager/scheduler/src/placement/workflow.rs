//! Priorities of applications by the workflow that their tag names
//! (`WorkflowPriorityMappingsManager`).
//! May touch: text.
//! Must not: clamp a priority or check who may use it (the caller does, as for any priority).

use std::collections::BTreeMap;

use yarn_types::Lookup;

use super::Problem;

/// `workflow:queue:priority` list.
pub const WORKFLOW_MAPPINGS: &str = "yarn.scheduler.capacity.workflow-priority-mappings";
/// Whether the mappings win over the priority that the client asked.
pub const WORKFLOW_OVERRIDE: &str =
    "yarn.scheduler.capacity.workflow-priority-mappings-override.enable";
/// Key of the tag's prefix.
pub const WORKFLOW_TAG_PREFIX: &str = "yarn.workflow-id.tag-prefix";
const WORKFLOW_TAG_PREFIX_DEFAULT: &str = "workflowid:";

/// The mappings.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct WorkflowPriorities {
    enabled: bool,
    tag_prefix: String,
    /// By queue path and workflow, in lower case.
    priorities: BTreeMap<(String, String), i32>,
}

impl WorkflowPriorities {
    /// Reads [`WORKFLOW_MAPPINGS`], [`WORKFLOW_OVERRIDE`] and [`WORKFLOW_TAG_PREFIX`].
    ///
    /// # Errors
    /// The first mapping that is malformed.
    pub fn parse(conf: &dyn Lookup) -> Result<Self, Problem> {
        let enabled = conf.get(WORKFLOW_OVERRIDE);
        let mut priorities = BTreeMap::new();
        let mappings = conf.get(WORKFLOW_MAPPINGS).unwrap_or_default();
        for mapping in mappings.split(',').map(str::trim) {
            if mapping.is_empty() {
                continue;
            }
            let problem = |text: &str| Problem {
                key: WORKFLOW_MAPPINGS,
                message: format!("{text} {mapping}"),
            };
            let parts: Vec<&str> = mapping
                .split(':')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .collect();
            let [workflow, queue, priority] = parts[..] else {
                return Err(problem("Illegal workflow priority mapping"));
            };
            let priority = priority
                .parse::<i32>()
                .map_err(|_| problem("Illegal workflow priority for mapping"))?;
            priorities.insert((queue.to_owned(), workflow.to_lowercase()), priority);
        }
        Ok(Self {
            enabled: enabled.is_some_and(|v| v.trim().eq_ignore_ascii_case("true")),
            tag_prefix: conf
                .get(WORKFLOW_TAG_PREFIX)
                .unwrap_or_else(|| WORKFLOW_TAG_PREFIX_DEFAULT.to_owned()),
            priorities,
        })
    }

    /// The priority of an application in `queue` (full path) with these tags: that of the queue or
    /// of the nearest queue above it, the root excepted. `None` leaves the priority as it is.
    pub fn priority<'a>(
        &self,
        queue: &str,
        tags: impl IntoIterator<Item = &'a str>,
    ) -> Option<i32> {
        if !self.enabled {
            return None;
        }
        let workflow_of = |tag: &'a str| tag.trim().strip_prefix(self.tag_prefix.as_str());
        let workflow = tags.into_iter().filter_map(workflow_of).last()?;
        if workflow.is_empty() {
            return None;
        }
        let mut path = queue;
        while let Some((parent, _)) = path.rsplit_once('.') {
            let key = (path.to_owned(), workflow.to_owned());
            if let Some(priority) = self.priorities.get(&key) {
                return Some(*priority);
            }
            path = parent;
        }
        None
    }
}
