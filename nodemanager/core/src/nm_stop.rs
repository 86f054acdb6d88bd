//! A stop: containers, goodbye, exit.
//! May touch: `Nm`.
//! Must not: end containers itself (their applications finish).

use yarn_types::{ApplicationId, Millis};

use crate::{
    container::Container,
    effect::{Action, ToRm},
    nm::{Ctx, Nm, StopStage, Stopping},
};

impl Nm {
    /// The node ends: first everything that runs on it.
    pub(crate) fn stop(&mut self, code: i32, reason: String, ctx: &mut Ctx<'_>) {
        if self.stopping.is_some() {
            return;
        }
        let wait = self
            .conf
            .sigkill_delay_ms
            .saturating_add(self.conf.kill_wait_ms);
        let give_up_at = ctx.now.plus(wait);
        let stage = StopStage::Containers;
        self.stopping = Some(Stopping {
            reason,
            code,
            give_up_at,
            stage,
        });
        let apps: Vec<ApplicationId> = self.apps.keys().copied().collect();
        for app in apps {
            self.finish_app(app, "Application killed on shutdown", ctx);
        }
    }

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
