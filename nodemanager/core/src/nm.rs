//! `Nm`: the state of the NodeManager and the one function that changes it.
//! May touch: everything in this crate.
//! Must not: read clocks, files or sockets; time comes with the event.

use std::collections::BTreeMap;

use yarn_types::{ApplicationId, ContainerId, Millis, exit};

use crate::{
    app::{App, AppState},
    container::Container,
    effect::{Action, ContainerReport, Effect, ToRm},
    event::{Event, Health, HeartbeatAnswer, NodeAction},
    gpu::Gpus,
    labels::OwnLabel,
    link::{Due, Link, LinkConf, LinkState},
    outbox::Outbox,
};

/// What an administrator sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NmConf {
    /// `yarn.nodemanager.sleep-delay-before-sigkill.ms`.
    pub sigkill_delay_ms: u64,
    /// `yarn.nodemanager.process-kill-wait.ms`: how long a stop waits for containers after
    /// SIGKILL.
    pub kill_wait_ms: u64,
    /// `yarn.nodemanager.log.retain-seconds`, in ms.
    pub log_retain_ms: u64,
    /// `yarn.nodemanager.container-diagnostics-maximum-size`.
    pub diagnostics_bytes_max: usize,
    /// `yarn.nodemanager.duration-to-track-stopped-containers`: how long an ended container is
    /// "recently stopped".
    pub track_stopped_ms: u64,
    /// `yarn.resourcemanager.work-preserving-recovery.enabled`: containers outlive a RESYNC.
    pub work_preserving: bool,
    /// `yarn.nodemanager.resource-plugins` has `yarn.io/gpu`: the node manages devices.
    pub gpus: bool,
    /// `yarn.nodemanager.node-labels.resync-interval-ms`, where the node says its label itself.
    pub label_resync_ms: Option<u64>,
    /// The link to the ResourceManager.
    pub link: LinkConf,
}

/// What one event may use while it is applied.
pub(crate) struct Ctx<'a> {
    pub(crate) now: Millis,
    pub(crate) wall_ms: i64,
    pub(crate) conf: &'a NmConf,
    /// Something happened that the ResourceManager waits for.
    pub(crate) urgent: bool,
    /// Containers that are over since this event.
    pub(crate) done: Vec<ContainerId>,
    out: &'a mut Vec<Effect>,
}

impl Ctx<'_> {
    pub(crate) fn emit(&mut self, action: Action) {
        self.out.push(Effect { when: None, action });
    }
}

/// How long the start of a container is refused whose cleanup came first: as long as Hadoop's
/// container tokens live (`yarn.resourcemanager.rm.container-allocation.expiry-interval-ms`).
const START_REFUSED_MS: i64 = 600_000;

/// How a stop goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stopping {
    pub(crate) reason: String,
    /// Exit code of the process.
    pub(crate) code: i32,
    /// When containers are no longer waited for.
    pub(crate) give_up_at: Millis,
    pub(crate) stage: StopStage,
}

/// Stage of a stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopStage {
    /// Containers are being ended.
    Containers,
    /// `Unregister` is on its way.
    Unregister,
    /// `Exit` was said.
    Over,
}

/// The NodeManager. Equal histories give equal states and effects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nm {
    pub(crate) conf: NmConf,
    /// Wall milliseconds at `now` 0.
    wall_offset_ms: i64,
    /// All reports together.
    pub(crate) health: Health,
    /// The last report of each checker.
    pub(crate) reports: BTreeMap<usize, Health>,
    pub(crate) containers: BTreeMap<ContainerId, Container>,
    pub(crate) apps: BTreeMap<ApplicationId, App>,
    /// Started containers by the wall time until which their token would start them again.
    pub(crate) started: BTreeMap<ContainerId, i64>,
    /// Ended containers by the time until which they are "recently stopped".
    pub(crate) stopped: BTreeMap<ContainerId, Millis>,
    /// When the logs of ended applications go.
    pub(crate) log_deletes: BTreeMap<ApplicationId, Millis>,
    pub(crate) link: Link,
    pub(crate) outbox: Outbox,
    pub(crate) stopping: Option<Stopping>,
    /// The node's own label, where it says one.
    label: Option<OwnLabel>,
    /// The devices, on a node that manages them.
    pub(crate) gpus: Option<Gpus>,
    /// The ResourceManager knows devices; one that does not is told a changed number by another
    /// registration.
    pub(crate) rm_knows_gpus: bool,
    /// Usable devices as registered last.
    pub(crate) usable_told: usize,
}

impl Nm {
    /// A NodeManager that has not registered.
    pub fn new(conf: NmConf) -> Self {
        Self {
            link: Link::new(conf.link),
            gpus: conf.gpus.then(Gpus::default),
            label: conf.label_resync_ms.map(OwnLabel::new),
            rm_knows_gpus: false,
            usable_told: 0,
            conf,
            wall_offset_ms: 0,
            health: Health {
                healthy: true,
                report: String::new(),
                checked_wall_ms: 0,
            },
            reports: BTreeMap::new(),
            containers: BTreeMap::new(),
            apps: BTreeMap::new(),
            started: BTreeMap::new(),
            stopped: BTreeMap::new(),
            log_deletes: BTreeMap::new(),
            outbox: Outbox::default(),
            stopping: None,
        }
    }

    /// Applies `event` at `now`; what is to be done is appended to `out`, in order.
    pub fn apply(&mut self, now: Millis, event: Event, out: &mut Vec<Effect>) {
        if let Event::WallClock { wall_ms } = event {
            let now_ms = i64::try_from(now.0).unwrap_or(i64::MAX);
            self.wall_offset_ms = wall_ms.saturating_sub(now_ms);
            if let Some(gpus) = &mut self.gpus {
                gpus.number_from(u64::try_from(wall_ms).unwrap_or(0));
            }
            return;
        }
        let conf = self.conf.clone();
        let mut ctx = Ctx {
            now,
            wall_ms: self.wall_ms(now),
            conf: &conf,
            urgent: false,
            done: Vec::new(),
            out,
        };
        self.dispatch(event, &mut ctx);
        self.settle(&mut ctx);
    }

    /// When the next `Event::Tick` is due.
    pub fn next_wake(&self) -> Option<Millis> {
        let kills = self.containers.values().filter_map(|c| c.kill_at);
        let logs = self.log_deletes.values().copied();
        let stop = self
            .stopping
            .iter()
            .filter(|s| s.stage != StopStage::Over)
            .map(|s| s.give_up_at);
        let link = self.link.next_wake().filter(|_| self.may_send());
        kills.chain(logs).chain(stop).chain(link).min()
    }

    /// Wall milliseconds at `now`.
    pub fn wall_ms(&self, now: Millis) -> i64 {
        i64::try_from(now.0)
            .unwrap_or(i64::MAX)
            .saturating_add(self.wall_offset_ms)
    }

    /// Containers that are known, ended ones included, in ascending order.
    pub fn containers(&self) -> impl Iterator<Item = &Container> {
        self.containers.values()
    }

    /// One container.
    pub fn container(&self, id: ContainerId) -> Option<&Container> {
        self.containers.get(&id)
    }

    /// Applications that are not finished here, in ascending order.
    pub fn apps(&self) -> impl Iterator<Item = (ApplicationId, &App)> {
        self.apps.iter().map(|(id, app)| (*id, app))
    }

    /// Health as reported.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The link to the ResourceManager.
    pub fn link(&self) -> &Link {
        &self.link
    }

    fn dispatch(&mut self, event: Event, ctx: &mut Ctx<'_>) {
        match event {
            Event::Tick | Event::WallClock { .. } => self.on_tick(ctx),
            Event::Begin => self.link.register(ctx.now),
            Event::Registered {
                rm_identifier,
                gpu_seq,
            } => {
                if self.link.state() == LinkState::Registering {
                    self.link.on_registered(rm_identifier, ctx.now);
                    self.rm_knows_gpus = gpu_seq.is_some();
                    self.on_gpu_echo(gpu_seq);
                }
            }
            Event::GpuReading { devices } => self.on_gpu_reading(devices, ctx),
            Event::GpuProbeFailed { reason } => self.on_gpu_probe_failed(&reason, ctx),
            Event::GpuCleaned { uuids } => self.on_gpu_cleaned(&uuids, ctx),
            Event::TornDown { container, dirty } => {
                self.on_torn_down(container, dirty.as_deref(), ctx);
            }
            Event::RegistrationRefused { diagnostics } => {
                self.link.close();
                let why = format!(
                    "Recieved SHUTDOWN signal from Resourcemanager, Registration of NodeManager \
                     failed, Message from ResourceManager: {diagnostics}"
                );
                self.stop(1, why, ctx);
            }
            Event::HeartbeatAnswered(answer) => self.on_heartbeat_answered(&answer, ctx),
            Event::RmUnreachable { reason } => self.on_rm_unreachable(&reason, ctx),
            Event::Unregistered => self.exit_now(ctx),
            Event::Start {
                call,
                caller,
                starts,
            } => self.on_start(call, caller, starts, ctx),
            Event::Update {
                call,
                caller,
                updates,
            } => self.on_update(call, caller, &updates, ctx),
            Event::Stop {
                call,
                caller,
                containers,
            } => self.on_stop(call, caller, &containers, ctx),
            Event::Statuses {
                call,
                caller,
                containers,
            } => {
                self.on_statuses(call, caller, &containers, ctx);
            }
            Event::SignalRequest {
                call,
                caller,
                container,
                signal,
            } => {
                self.on_signal(call, caller, container, signal, ctx);
            }
            Event::Health { reporter, health } => self.on_health(reporter, health, ctx),
            Event::LabelFound { label } => {
                if let Some(own) = &mut self.label {
                    own.on_found(label);
                }
            }
            Event::LeftLogs { apps } => self.on_left_logs(&apps, ctx.now),
            Event::AppCleaned { app } => self.on_app_cleaned(app),
            Event::Shutdown { reason } => self.stop(0, reason, ctx),
            other => self.on_container_event(&other, ctx),
        }
    }

    fn on_container_event(&mut self, event: &Event, ctx: &mut Ctx<'_>) {
        let (Event::Localized { container }
        | Event::LocalizationFailed { container, .. }
        | Event::Launched { container }
        | Event::LaunchFailed { container, .. }
        | Event::Exited { container, .. }
        | Event::OverLimit { container, .. }
        | Event::Note { container, .. }) = event
        else {
            return;
        };
        let Some(c) = self.containers.get_mut(container) else {
            return;
        };
        match event {
            Event::Localized { .. } => c.on_localized(ctx),
            Event::LocalizationFailed { diagnostics, .. } => {
                c.on_localization_failed(diagnostics, ctx);
            }
            Event::Launched { .. } => c.on_launched(ctx),
            Event::LaunchFailed {
                exit_code,
                diagnostics,
                ..
            } => c.on_launch_failed(*exit_code, diagnostics, ctx),
            Event::Exited {
                exit_code,
                message,
                tails,
                ..
            } => {
                c.on_exited(*exit_code, message, tails, ctx);
            }
            Event::OverLimit {
                exit_code,
                diagnostics,
                ..
            } => {
                c.on_kill(*exit_code, diagnostics, ctx);
            }
            Event::Note { text, .. } => c.note(text, ctx),
            _ => {}
        }
    }

    fn on_tick(&mut self, ctx: &mut Ctx<'_>) {
        for container in self.containers.values_mut() {
            container.on_tick(ctx);
        }
        self.delete_due_logs(ctx);
        self.stopped.retain(|_, until| *until > ctx.now);
        let wall_ms = ctx.wall_ms;
        self.started.retain(|_, expires| *expires >= wall_ms);
    }

    fn on_heartbeat_answered(&mut self, answer: &HeartbeatAnswer, ctx: &mut Ctx<'_>) {
        if self.link.state() != LinkState::Registered || !self.link.in_flight() {
            return;
        }
        self.link
            .on_answered(answer.response_id, answer.next_interval_ms, ctx.now);
        match answer.action {
            NodeAction::Normal => {}
            NodeAction::Resync => return self.resync(ctx),
            NodeAction::Shutdown => {
                self.link.close();
                let why = format!(
                    "Received SHUTDOWN signal from Resourcemanager as part of heartbeat, hence \
                     shutting down. Message from ResourceManager: {}",
                    answer.diagnostics
                );
                return self.stop(0, why, ctx);
            }
        }
        self.on_gpu_echo(answer.gpu_seq);
        for id in self.outbox.on_answered() {
            // The ApplicationMaster is gone, so nobody acknowledges the status.
            if !self.apps.contains_key(&id.app()) {
                self.forget(id, ctx);
            }
        }
        // What may not have arrived does not wait for its turn.
        ctx.urgent |= !self.outbox.is_empty();
        for id in &answer.containers_to_be_removed {
            if self.containers.get(id).is_some_and(Container::is_done) {
                self.forget(*id, ctx);
            }
        }
        for id in &answer.containers_to_cleanup {
            let (code, why) = (
                exit::KILLED_BY_RESOURCEMANAGER,
                "Container Killed by ResourceManager",
            );
            self.kill(*id, code, why, ctx);
            if !self.containers.contains_key(id) {
                // a start that is still on its way comes too late: its devices may be another's
                let until = ctx.wall_ms.saturating_add(START_REFUSED_MS);
                self.started.entry(*id).or_insert(until);
            }
        }
        for update in &answer.containers_to_update {
            // It has ended meanwhile, or has a later size.
            let _ = self.update(update, ctx);
        }
        for app in &answer.applications_to_cleanup {
            self.finish_app(*app, "Application killed by ResourceManager", ctx);
        }
        for (id, signal) in &answer.containers_to_signal {
            if let Some(c) = self.containers.get_mut(id) {
                c.on_signal(*signal, ctx);
            }
        }
    }

    /// Registers again: with its containers, or after ending them where work is not preserved.
    fn resync(&mut self, ctx: &mut Ctx<'_>) {
        self.register_again(ctx.now);
        if !self.conf.work_preserving {
            let live: Vec<ContainerId> = self.containers.keys().copied().collect();
            for id in live {
                self.kill(
                    id,
                    exit::ABORTED,
                    "Container Killed due to NodeManager resync",
                    ctx,
                );
            }
        }
    }

    /// Registers again, with what was completed and is not acknowledged.
    pub(crate) fn register_again(&mut self, now: Millis) {
        self.link.register(now);
        let done: Vec<ContainerId> = self
            .containers
            .iter()
            .filter(|(_, c)| c.is_done())
            .map(|(id, _)| *id)
            .collect();
        self.outbox.restart(done.into_iter());
    }

    fn on_rm_unreachable(&mut self, reason: &str, ctx: &mut Ctx<'_>) {
        if !self.link.in_flight() {
            return;
        }
        self.outbox.on_missed();
        if !self.link.on_failed(ctx.now) {
            self.stop(0, format!("Failed to connect to RM: {reason}"), ctx);
        }
    }

    pub(crate) fn kill(&mut self, id: ContainerId, code: i32, why: &str, ctx: &mut Ctx<'_>) {
        if let Some(c) = self.containers.get_mut(&id) {
            c.on_kill(code, why, ctx);
        }
    }

    pub(crate) fn finish_app(&mut self, id: ApplicationId, why: &str, ctx: &mut Ctx<'_>) {
        let Some(app) = self
            .apps
            .get_mut(&id)
            .filter(|a| a.state == AppState::Running)
        else {
            return;
        };
        app.state = AppState::FinishingContainersWait;
        let why = format!("Container killed on application-finish event: {why}");
        let mine: Vec<ContainerId> = self
            .containers
            .keys()
            .copied()
            .filter(|c| c.app() == id)
            .collect();
        for container in mine {
            self.kill(container, exit::KILLED_AFTER_APP_COMPLETION, &why, ctx);
        }
    }

    fn on_app_cleaned(&mut self, id: ApplicationId) {
        let cleaning = self
            .apps
            .get(&id)
            .is_some_and(|a| a.state == AppState::ResourcesCleaningUp);
        if cleaning {
            self.apps.remove(&id);
        }
    }

    fn forget(&mut self, id: ContainerId, ctx: &mut Ctx<'_>) {
        self.outbox.remove(id);
        if self.containers.remove(&id).is_some() {
            ctx.emit(Action::Forget { container: id });
        }
    }

    /// Everything that follows from what the event left behind.
    fn settle(&mut self, ctx: &mut Ctx<'_>) {
        for id in std::mem::take(&mut ctx.done) {
            ctx.urgent = true;
            self.outbox.add(id);
            self.stopped
                .insert(id, ctx.now.plus(ctx.conf.track_stopped_ms));
        }
        self.tell_stock_rm(ctx.now);
        self.clean_finished_apps(ctx);
        self.go_on_stopping(ctx);
        let due = if self.may_send() {
            self.link.take_due(ctx.now, ctx.urgent)
        } else {
            None
        };
        match due {
            None => {}
            Some(Due::Register) => {
                let gpus = self.gpu_list();
                let containers = self.containers.values().map(Container::report);
                let containers: Vec<ContainerReport> =
                    containers.map(|r| self.with_grants(r)).collect();
                let applications = self.apps.keys().copied().collect();
                let health = self.health.clone();
                ctx.emit(Action::Tell(ToRm::Register {
                    containers,
                    applications,
                    health,
                    gpus,
                    labels: self.label.as_mut().and_then(OwnLabel::to_register),
                }));
            }
            Some(Due::Heartbeat) => {
                let sent = self.outbox.send();
                let increased = self.outbox.send_increases();
                let increased = increased.iter().filter_map(|id| self.containers.get(id));
                let increased = increased.filter(|c| !c.is_done());
                let increased = increased.map(Container::report).collect();
                let containers = self
                    .containers
                    .iter()
                    .filter(|(id, c)| !c.is_done() || sent.contains(id))
                    .map(|(_, c)| c.report())
                    .collect();
                let (response_id, health) = (self.link.response_id(), self.health.clone());
                ctx.emit(Action::Tell(ToRm::Heartbeat {
                    response_id,
                    containers,
                    increased,
                    health,
                    gpus: self.gpu_changes(),
                    labels: self.label.as_mut().and_then(|l| l.to_heartbeat(ctx.now)),
                }));
            }
        }
    }

    /// Goodbye has not been said.
    fn may_send(&self) -> bool {
        self.stopping
            .as_ref()
            .is_none_or(|s| s.stage == StopStage::Containers)
    }

    fn clean_finished_apps(&mut self, ctx: &mut Ctx<'_>) {
        for (id, app) in &mut self.apps {
            let busy = app.state != AppState::FinishingContainersWait
                || self
                    .containers
                    .values()
                    .any(|c| c.spec.container.app() == *id && !c.is_done());
            if busy {
                continue;
            }
            app.state = AppState::ResourcesCleaningUp;
            ctx.emit(Action::CleanApp {
                app: *id,
                user: app.user.clone(),
            });
            self.log_deletes
                .insert(*id, ctx.now.plus(ctx.conf.log_retain_ms));
        }
    }
}

#[cfg(test)]
#[path = "nm_test.rs"]
pub(crate) mod tests;

#[cfg(test)]
#[path = "nm_laws_test.rs"]
mod laws;

#[cfg(test)]
#[path = "nm_link_test.rs"]
mod link_tests;
