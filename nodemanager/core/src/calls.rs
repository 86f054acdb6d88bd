//! The calls of ContainerManagementProtocol: who may do what to which container.
//! May touch: `Nm`.
//! Must not: verify signatures (the shell did, over the received bytes).

use yarn_types::{ApplicationAttemptId, ContainerId, exit};

use crate::{
    app::{App, AppState},
    container::Container,
    effect::{Action, Reply},
    event::{CallId, Signal, StartSpec},
    gpu::GpuFault,
    nm::{Ctx, Nm},
    reject::{Reject, TokenUse},
};

impl Nm {
    pub(crate) fn on_start(
        &mut self,
        call: CallId,
        caller: ApplicationAttemptId,
        starts: Vec<StartSpec>,
        ctx: &mut Ctx<'_>,
    ) {
        let Some(rm_identifier) = self.link.rm_identifier() else {
            // Clients come again after the first, and not after the second.
            let reject = match self.stopping {
                None => Reject::NotYetReady,
                Some(_) => Reject::ShuttingDown,
            };
            ctx.emit(Action::Reply {
                call,
                reply: Err(reject),
            });
            return;
        };
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        for spec in starts {
            let id = spec.container;
            if let Err(reject) = self.judge_start(caller, &spec, rm_identifier, ctx.wall_ms) {
                failed.push((id, reject));
                continue;
            }
            self.started.insert(id, spec.expires_wall_ms);
            self.apps
                .entry(id.app())
                .or_insert_with(|| App::new(spec.user.clone()));
            // Logs of an application that comes back are not to be deleted under it.
            self.log_deletes.remove(&id.app());
            self.accept(spec, ctx);
            succeeded.push(id);
        }
        ctx.emit(Action::Reply {
            call,
            reply: Ok(Reply::Containers { succeeded, failed }),
        });
    }

    /// Takes the container and its devices. Where a device is at fault the container ends at
    /// once: a refused start would count against the application.
    fn accept(&mut self, spec: StartSpec, ctx: &mut Ctx<'_>) {
        let id = spec.container;
        let devices = match (&mut self.gpus, spec.gpus.as_slice(), spec.gpu_count) {
            (Some(gpus), [], count) if count > 0 => gpus.choose(id, count),
            (Some(gpus), grants, _) => gpus.take(id, grants),
            (None, [], _) => Ok(Vec::new()),
            (None, ..) => Err(GpuFault(
                "gpu unavailable: this node manages no devices".to_owned(),
            )),
        };
        let mut container = Container::new(spec);
        match devices {
            Ok(mut devices) => {
                // in NVML's order, which is the order of the indices that the container sees
                devices.sort_by_key(|d| d.index);
                container.gpus = devices.into_iter().map(|d| d.uuid).collect();
                container.init(ctx);
            }
            Err(GpuFault(why)) => container.on_kill(exit::ABORTED, &why, ctx),
        }
        self.containers.insert(id, container);
    }

    /// The checks of `ContainerManagerImpl.authorizeStartAndResourceIncreaseRequest` and
    /// `startContainerInternal`, in their order.
    fn judge_start(
        &self,
        caller: ApplicationAttemptId,
        spec: &StartSpec,
        rm_identifier: i64,
        wall_ms: i64,
    ) -> Result<(), Reject> {
        let id = spec.container;
        if caller.app != id.app() {
            return Err(Reject::OtherApplication {
                token: TokenUse::Start,
                caller,
                owner: id.attempt,
            });
        }
        if self.started.contains_key(&id) || self.containers.contains_key(&id) {
            return Err(Reject::Relaunch(id));
        }
        if spec.expires_wall_ms < wall_ms {
            let expires_wall_ms = spec.expires_wall_ms;
            return Err(Reject::Expired {
                token: TokenUse::Start,
                now_wall_ms: wall_ms,
                expires_wall_ms,
            });
        }
        if spec.rm_identifier != rm_identifier {
            return Err(Reject::PreviousRm(id));
        }
        if let Some(fault) = &spec.fault {
            return Err(fault.clone());
        }
        if let Some(name) = spec.aux_services.first() {
            return Err(Reject::AuxService(name.clone()));
        }
        if self.stopping.is_some() {
            return Err(Reject::ShuttingDown);
        }
        match self.apps.get(&id.app()) {
            Some(app) if app.state != AppState::Running => Err(Reject::AppFinishing(id.app())),
            _ => Ok(()),
        }
    }

    pub(crate) fn on_stop(
        &mut self,
        call: CallId,
        caller: ApplicationAttemptId,
        containers: &[ContainerId],
        ctx: &mut Ctx<'_>,
    ) {
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        for id in containers {
            match self.find(caller, *id, "stop") {
                Ok(_) => {
                    let why = "Container killed by the ApplicationMaster.";
                    self.kill(*id, exit::KILLED_BY_APPMASTER, why, ctx);
                    succeeded.push(*id);
                }
                // To stop what has ended is done already.
                Err(Reject::RecentlyStopped(_)) => succeeded.push(*id),
                Err(reject) => failed.push((*id, reject)),
            }
        }
        ctx.emit(Action::Reply {
            call,
            reply: Ok(Reply::Containers { succeeded, failed }),
        });
    }

    pub(crate) fn on_statuses(
        &mut self,
        call: CallId,
        caller: ApplicationAttemptId,
        containers: &[ContainerId],
        ctx: &mut Ctx<'_>,
    ) {
        let (mut statuses, mut failed) = (Vec::new(), Vec::new());
        for id in containers {
            match self.find(caller, *id, "get status for") {
                Ok(container) => statuses.push(container.report()),
                Err(reject) => failed.push((*id, reject)),
            }
        }
        ctx.emit(Action::Reply {
            call,
            reply: Ok(Reply::Statuses { statuses, failed }),
        });
    }

    pub(crate) fn on_signal(
        &mut self,
        call: CallId,
        caller: ApplicationAttemptId,
        container: ContainerId,
        signal: Signal,
        ctx: &mut Ctx<'_>,
    ) {
        let found = self.find(caller, container, "signal").map(|_| ());
        if let (Ok(()), Some(c)) = (&found, self.containers.get_mut(&container)) {
            c.on_signal(signal, ctx);
        }
        ctx.emit(Action::Reply {
            call,
            reply: found.map(|()| Reply::Done),
        });
    }

    fn find(
        &self,
        caller: ApplicationAttemptId,
        container: ContainerId,
        verb: &'static str,
    ) -> Result<&Container, Reject> {
        if caller.app != container.app() {
            return Err(Reject::Foreign {
                caller,
                verb,
                container,
            });
        }
        let stopped = self.stopped.contains_key(&container);
        self.containers.get(&container).ok_or(if stopped {
            Reject::RecentlyStopped(container)
        } else {
            Reject::Unknown(container)
        })
    }
}
