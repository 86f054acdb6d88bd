//! Containers that get another size, by a call of their ApplicationMaster or a heartbeat's answer.
//! May touch: `Nm`.
//! Must not: verify signatures (the shell did), or change what devices a container has.

use std::collections::BTreeMap;

use yarn_types::{ApplicationAttemptId, gpu::DeviceGrant};

use crate::{
    effect::{Action, Reply},
    event::{CallId, UpdateSpec},
    nm::{Ctx, Nm},
    reject::{Reject, TokenUse},
};

impl Nm {
    pub(crate) fn on_update(
        &mut self,
        call: CallId,
        caller: ApplicationAttemptId,
        updates: &[UpdateSpec],
        ctx: &mut Ctx<'_>,
    ) {
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        for update in updates {
            let done = self.judge_update(caller, update, ctx.wall_ms);
            match done.and_then(|()| self.update(update, ctx)) {
                Ok(()) => succeeded.push(update.container),
                Err(reject) => failed.push((update.container, reject)),
            }
        }
        ctx.emit(Action::Reply {
            call,
            reply: Ok(Reply::Containers { succeeded, failed }),
        });
    }

    /// `ContainerManagerImpl.authorizeStartAndResourceIncreaseRequest`, for an update.
    fn judge_update(
        &self,
        caller: ApplicationAttemptId,
        update: &UpdateSpec,
        wall_ms: i64,
    ) -> Result<(), Reject> {
        let id = update.container;
        if caller.app != id.app() {
            return Err(Reject::OtherApplication {
                token: TokenUse::Update,
                caller,
                owner: id.attempt,
            });
        }
        if update.expires_wall_ms < wall_ms {
            return Err(Reject::Expired {
                token: TokenUse::Update,
                now_wall_ms: wall_ms,
                expires_wall_ms: update.expires_wall_ms,
            });
        }
        match self.link.rm_identifier() {
            None if self.stopping.is_none() => Err(Reject::NotYetReady),
            Some(known) if known != update.rm_identifier => Err(Reject::PreviousRm(id)),
            _ if self.stopping.is_some() => Err(Reject::NoUpdates),
            _ => Ok(()),
        }
    }

    /// Gives a container the size in a token that is newer than what it has
    /// (`ContainerManagerImpl.updateContainerInternal`).
    pub(crate) fn update(&mut self, update: &UpdateSpec, ctx: &mut Ctx<'_>) -> Result<(), Reject> {
        let id = update.container;
        let stopped = self.stopped.contains_key(&id);
        let container = self.containers.get_mut(&id).filter(|c| !c.is_done());
        let Some(container) = container else {
            return Err(if stopped {
                Reject::RecentlyStopped(id)
            } else {
                Reject::Unknown(id)
            });
        };
        let current = container.spec.version;
        if update.version <= current {
            return Err(Reject::OldVersion {
                container: id,
                current,
                requested: update.version,
            });
        }
        let spec = &container.spec;
        let same = by_device(&update.gpus) == by_device(&spec.gpus);
        if !same || update.gpu_count != spec.gpu_count {
            return Err(Reject::Devices(id));
        }
        if update.guaranteed != container.spec.guaranteed {
            return Err(Reject::ExecutionType(id));
        }
        if container.on_update(update, ctx) {
            self.outbox.add_increase(id);
            // The ResourceManager takes the room back unless it hears of this in time.
            ctx.urgent = true;
        }
        Ok(())
    }
}

fn by_device(grants: &[DeviceGrant]) -> BTreeMap<&str, u64> {
    grants.iter().map(|g| (&*g.uuid, g.epoch)).collect()
}

#[cfg(test)]
#[path = "update_test.rs"]
mod tests;
