//! What the scheduler does to live containers: asks for them back, takes them.
//! May touch: `Rm`.
//! Must not: choose which (the scheduler does).

use super::{EndCause, Ended};
use crate::{
    effect::{Action, Effect, Note},
    rm::Rm,
    sched::ContainerIdx,
};

impl Rm {
    /// The ApplicationMaster is told that this container will be taken soon.
    pub(crate) fn on_preempt(&mut self, account: ContainerIdx, out: &mut Vec<Effect>) {
        let Some(id) = self.by_account.get(&account).copied() else {
            return;
        };
        if let Some((_, attempt)) = self.current_attempt_of(id) {
            attempt.preempting.insert(id);
            let text = format!("{id} is asked back, its queue or user has too much");
            out.push(Effect::now(Action::Note(Note::Text(text))));
        }
    }

    /// A container is taken for another queue, user or application.
    pub(crate) fn on_preempted(
        &mut self,
        account: ContainerIdx,
        released: bool,
        out: &mut Vec<Effect>,
    ) {
        let Some(id) = self.by_account.get(&account).copied() else {
            return;
        };
        if released {
            self.released.insert(account);
        }
        let text = format!("{id} is preempted");
        out.push(Effect::now(Action::Note(Note::Text(text))));
        self.end_container(id, Ended::preempted(), out);
    }
}

impl Ended {
    /// Taken by the scheduler (`SchedulerUtils.createPreemptedContainerStatus`).
    fn preempted() -> Self {
        Self {
            exit_status: yarn_types::exit::PREEMPTED,
            ..Self::by_rm(EndCause::Preempted)
        }
    }
}
