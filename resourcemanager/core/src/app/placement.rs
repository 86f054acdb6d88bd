//! A submission on its way in: placed by rules, checked against access lists, its queue made ready.
//! May touch: `Rm`.
//! Must not: look up groups (the submission brings them).

use std::sync::Arc;

use super::{App, client::queue_name};
use crate::{
    event::{Submission, Who},
    placement::{Placed, PlacementContext},
    reject::{Reject, RejectKind},
    rm::Rm,
    sched::{Submitted, denied},
};

impl Rm {
    /// Gives a submission the queue that the rules choose; false when none of them does
    /// (`RMAppManager.placeApplication`).
    pub(super) fn place_submission(&self, submission: &mut Submission) -> Result<bool, Reject> {
        let placed = match self.placed_by_tag(submission) {
            Some(placed) => Some(placed),
            None => self.place_for(submission, &submitter(submission))?,
        };
        let Some(placed) = placed else {
            return Ok(false);
        };
        submission.queue = placed.queue;
        Ok(true)
    }

    fn place_for(&self, submission: &Submission, who: &Who) -> Result<Option<Placed>, Reject> {
        let placed = self.sched.place_application(&PlacementContext {
            user: &who.user,
            groups: &who.groups,
            app_name: &submission.name,
            queue: queue_name(&submission.queue),
            recovery: false,
        });
        placed.map_err(|refused| {
            let why = refused.detail.clone().unwrap_or_default();
            let (id, user) = (submission.app, &who.user);
            refused.with_detail(format!("application {id} of {user} is {why}"))
        })
    }

    /// Where the user of the tag is placed, if that one may submit there
    /// (`RMAppManager.getUserNameForPlacement`).
    fn placed_by_tag(&self, submission: &Submission) -> Option<Placed> {
        let who = submission.tag_user.as_ref()?;
        let placed = self.place_for(submission, who).ok()??;
        let may = self.sched.may_submit(&placed.queue, true, who.caller());
        may.then_some(placed)
    }

    /// The priority that the submitter gets, and whether it may submit at all
    /// (`RMAppManager.createAndPopulateNewRMApp`).
    pub(super) fn check_submitter(
        &self,
        submission: &mut Submission,
        placed: bool,
    ) -> Result<(), Reject> {
        let (id, queue) = (submission.app, queue_name(&submission.queue));
        let who = submitter(submission);
        let caller = self.conf.acl_enabled.then(|| who.caller());
        let priority = self
            .sched
            .checked_priority(id, queue, submission.priority, caller)?;
        if let Some(caller) = caller
            && !self.sched.may_submit(queue, placed, caller)
        {
            let text = crate::acl::submit_refused(&who.user, &id.to_string(), queue);
            return Err(denied(&text));
        }
        submission.priority = Some(priority);
        Ok(())
    }

    /// Makes the queue ready for an application that lasts, and says what the scheduler shall take.
    pub(super) fn ready(&mut self, app: &App) -> Result<Submitted, Reject> {
        let submission = &app.submission;
        let mut submitted = Submitted {
            id: submission.app,
            queue: queue_name(&submission.queue).to_owned(),
            user: Arc::clone(&submission.user),
            priority: submission.priority,
        };
        self.sched.ready_queue(self.now, &submitted, app.placed)?;
        let by_workflow = self
            .sched
            .workflow_priority(&submitted.queue, &submission.tags);
        if by_workflow.is_some() {
            let who = submitter(submission);
            let caller = self.conf.acl_enabled.then(|| who.caller());
            let (id, queue) = (submitted.id, &submitted.queue);
            let checked = self.sched.checked_priority(id, queue, by_workflow, caller);
            let refused = |e: Reject| {
                let text = format!(
                    "Failed to submit application {id} submitted by user {} reason: {}",
                    who.user, e.message
                );
                Reject::new(RejectKind::Yarn, text)
            };
            submitted.priority = Some(checked.map_err(refused)?);
        }
        Ok(submitted)
    }
}

fn submitter(submission: &Submission) -> Who {
    Who {
        user: Arc::clone(&submission.user),
        groups: submission.groups.clone(),
    }
}
