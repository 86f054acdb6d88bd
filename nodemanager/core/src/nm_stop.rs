//! How a stop goes on: containers, goodbye, exit.
//! May touch: `Nm`.
//! Must not: end containers (the stop has asked for that already).

use yarn_types::Millis;

use crate::{
    container::Container,
    effect::{Action, ToRm},
    nm::{Ctx, Nm, StopStage, Stopping},
};

impl Nm {
    pub(crate) fn go_on_stopping(&mut self, ctx: &mut Ctx<'_>) {
        let all_done = self.containers.values().all(Container::is_done);
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        let wait = !all_done && ctx.now < stopping.give_up_at;
        match stopping.stage {
            StopStage::Containers if wait || self.link.in_flight() && !late(stopping, ctx.now) => {}
            StopStage::Containers if self.link.rm_identifier().is_some() => {
                stopping.stage = StopStage::Unregister;
                // One more wait of the same length for the ResourceManager.
                stopping.give_up_at = ctx.now.plus(ctx.conf.kill_wait_ms);
                ctx.emit(Action::Tell(ToRm::Unregister));
            }
            StopStage::Containers => self.exit_now(ctx),
            StopStage::Unregister if ctx.now >= stopping.give_up_at => self.exit_now(ctx),
            StopStage::Unregister | StopStage::Over => {}
        }
    }

    pub(crate) fn exit_now(&mut self, ctx: &mut Ctx<'_>) {
        let Some(stopping) = self
            .stopping
            .as_mut()
            .filter(|s| s.stage != StopStage::Over)
        else {
            return;
        };
        stopping.stage = StopStage::Over;
        let (code, reason) = (stopping.code, stopping.reason.clone());
        self.link.close();
        ctx.emit(Action::Exit { code, reason });
    }
}

fn late(stopping: &Stopping, now: Millis) -> bool {
    now >= stopping.give_up_at
}
