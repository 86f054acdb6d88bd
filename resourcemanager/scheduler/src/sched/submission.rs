//! A submission before it is taken: its queue by the rules, who may submit, its priority, a queue
//! made for it.
//! May touch: the queue tree (a created queue), placement rules and lists.
//! Must not: admit the application (`admit.rs` does), or look up groups (they come with the call).

use yarn_types::{ApplicationId, Millis};

use super::{Sched, app::Submitted, tree::ROOT};
use crate::{
    acl::{self, AccessList, Caller, PriorityAcls, QueueAcl},
    conf::SchedConf,
    placement::{
        Placed, PlacementContext, Problem, QueueKind, QueueLookup, QueueRef, REJECTED, RawRules,
        Rules,
    },
    reject::{Reject, RejectKind},
};

/// A refusal for want of rights as clients read it: stock wraps it in a `YarnException`
/// (`RPCUtil.getRemoteException`), which no client tries again.
pub fn denied(text: &str) -> Reject {
    Reject::new(
        RejectKind::Yarn,
        format!("org.apache.hadoop.security.AccessControlException: {text}"),
    )
}

impl QueueLookup for Sched {
    fn find(&self, name: &str) -> Option<QueueRef> {
        let queue = self.tree.get(self.tree.find(name)?);
        // `AbstractParentQueue.isEligibleForAutoQueueCreation`
        let dynamic = queue.dynamic || queue.conf.auto_create.enabled;
        Some(QueueRef {
            path: queue.path.to_string(),
            kind: if queue.is_parent() {
                QueueKind::Parent { dynamic }
            } else {
                QueueKind::Leaf
            },
        })
    }

    fn is_ambiguous(&self, name: &str) -> bool {
        self.tree.is_ambiguous(name)
    }
}

impl Sched {
    /// What is wrong with the placement rules of `conf` over its own queues, as at start.
    pub fn placement_problems(conf: &SchedConf) -> Vec<Problem> {
        let sched = Self::new(conf.clone());
        Rules::parse(&conf.rules, &sched).err().unwrap_or_default()
    }

    /// Takes the rules of the configuration for the queues as they are now.
    pub(super) fn take_rules(&mut self, raw: &RawRules) -> Result<(), Reject> {
        match Rules::parse(raw, self) {
            Ok(rules) => {
                self.rules = rules;
                Ok(())
            }
            Err(problems) => {
                let texts: Vec<String> = problems.into_iter().map(|p| p.message).collect();
                Err(Reject::new(RejectKind::Yarn, texts.join("; ")))
            }
        }
    }

    /// Where the rules place an application; `None` when the queue that its client named stands.
    ///
    /// # Errors
    /// A rule refuses it: Hadoop's text, which sends its reader to the log, and what to log.
    pub fn place_application(&self, app: &PlacementContext<'_>) -> Result<Option<Placed>, Reject> {
        let placed = self.rules.place(app, self);
        placed.map_err(|r| Reject::new(RejectKind::Yarn, REJECTED).with_detail(r.reason))
    }

    /// A queue's own list.
    pub fn queue_acl(&self, acl: QueueAcl, path: &str) -> Option<&AccessList> {
        let conf = &self.tree.get(self.tree.by_path(path)?).conf;
        Some(match acl {
            QueueAcl::SubmitApplications => &conf.acl_submit,
            QueueAcl::AdministerQueue => &conf.acl_administer,
        })
    }

    /// Whether the lists of a queue, by path or short name, or of a queue above it hold the caller;
    /// `None` where there is no such queue.
    pub fn queue_allows(&self, acl: QueueAcl, name: &str, caller: Caller<'_>) -> Option<bool> {
        let path = &self.tree.get(self.tree.find(name)?).path;
        Some(acl::queue_allows(path, caller, |p| self.queue_acl(acl, p)))
    }

    /// Whether the caller may submit to `queue`; a queue that is yet to be made has the lists of its
    /// parent, and one that will never be is refused later
    /// (`RMAppManager.createAndPopulateNewRMApp`).
    pub fn may_submit(&self, queue: &str, placed: bool, caller: Caller<'_>) -> bool {
        let parent = queue.rsplit_once('.').map(|(parent, _)| parent);
        let found = self.tree.find(queue);
        let found = found.or_else(|| self.tree.find(parent.filter(|_| placed)?));
        found.is_none_or(|idx| {
            let path = &self.tree.get(idx).path;
            acl::may_submit(path, caller, |acl, p| self.queue_acl(acl, p))
        })
    }

    /// The priority that an application gets in `queue`: as asked or by default, at most the
    /// cluster's maximum. With a caller the queue's `acl_application_max_priority` counts
    /// (`CapacityScheduler.checkAndGetApplicationPriority`).
    ///
    /// # Errors
    /// The caller may not use it.
    pub fn checked_priority(
        &self,
        id: ApplicationId,
        queue: &str,
        asked: Option<i32>,
        caller: Option<Caller<'_>>,
    ) -> Result<i32, Reject> {
        let most = self.conf.max_application_priority.max(0);
        let conf = self.tree.find(queue).map(|idx| &self.tree.get(idx).conf);
        let lists = caller.zip(conf).map(|(caller, conf)| {
            // it was parsed when the configuration was read
            let lists = PriorityAcls::parse(&conf.acl_priority, most).unwrap_or_default();
            (caller, lists)
        });
        let own = || {
            let (caller, lists) = lists.as_ref()?;
            lists.default_of(*caller)
        };
        let default = || conf.map_or(0, |conf| conf.default_application_priority);
        let priority = asked.or_else(own).unwrap_or_else(default).min(most);
        match &lists {
            Some((caller, lists)) if !lists.allows(*caller, priority) => Err(denied(&format!(
                "User {} (auth:SIMPLE) does not have permission to submit/update {id} for {{Priority: {priority}}}",
                caller.user
            ))),
            _ => Ok(priority),
        }
    }

    /// The priority that an application's workflow gives it in `queue`, when it gives one.
    pub fn workflow_priority(&self, queue: &str, tags: &[String]) -> Option<i32> {
        let path = &self.tree.get(self.tree.find(queue)?).path;
        let tags = tags.iter().map(String::as_str);
        self.conf.workflow.priority(path, tags)
    }

    /// Makes the queue of a submission where it is missing and may be made; marks it as used.
    /// `placed`: a rule chose the queue (`CapacityScheduler.getOrCreateQueueFromPlacementContext`).
    ///
    /// # Errors
    /// Hadoop's text, which becomes the application's diagnostics.
    pub fn ready_queue(
        &mut self,
        now: Millis,
        submission: &Submitted,
        placed: bool,
    ) -> Result<(), Reject> {
        let (id, user, name) = (submission.id, &submission.user, submission.queue.trim());
        if self.apps_below(ROOT) >= self.conf.queues.maximum_applications {
            return Err(Reject::new(
                RejectKind::Yarn,
                format!(
                    "Maximum system application limit reached,cannot accept submission of application: {id}"
                ),
            ));
        }
        let creatable = || name.contains('.') && !name.split('.').any(|p| p.trim().is_empty());
        let idx = match self.tree.find(name) {
            Some(idx) => idx,
            None if self.tree.is_ambiguous(name) || !creatable() => return Ok(()),
            None => match self.create_queue(now, name) {
                Ok(idx) => idx,
                // without a rule Hadoop says no more than that the queue is unknown
                Err(_) if !placed => return Ok(()),
                Err(e) => {
                    let text = format!(
                        "Application {id} submission by user : {user} to  queue : {name} failed : {}",
                        e.message
                    );
                    return Err(Reject::new(RejectKind::Yarn, text));
                }
            },
        };
        self.tree.get_mut(idx).used_at = now;
        Ok(())
    }
}

#[cfg(test)]
#[path = "submission_test.rs"]
mod tests;
