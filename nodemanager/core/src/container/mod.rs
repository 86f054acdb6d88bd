//! One container: its data and what each input does to it.
//! May touch: its own state, the effects of this event.
//! Must not: know other containers, the application or the ResourceManager.

mod state;

use std::sync::Arc;

use yarn_types::{ContainerState, Millis, exit};

pub use state::{Input, State};

use crate::{
    diagnostics::Diagnostics,
    effect::{Action, ContainerReport, SubState},
    event::{Signal, StartSpec, UpdateSpec},
    launch::diagnostics::{self as texts, Tails},
    nm::Ctx,
};

/// A container of this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// What it was started with.
    pub spec: StartSpec,
    pub(crate) state: State,
    exit_code: i32,
    diagnostics: Diagnostics,
    /// When SIGKILL follows the SIGTERM that was sent.
    pub(crate) kill_at: Option<Millis>,
    /// Its process is known to run.
    process: bool,
    /// UUIDs of its devices.
    pub(crate) gpus: Vec<Arc<str>>,
}

impl Container {
    pub(crate) fn new(spec: StartSpec) -> Self {
        Self {
            spec,
            state: State::New,
            exit_code: exit::INVALID,
            diagnostics: Diagnostics::default(),
            kill_at: None,
            process: false,
            gpus: Vec::new(),
        }
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// Over: its exit code and diagnostics are final.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Its process runs, or may still run while it is being ended.
    pub fn has_process(&self) -> bool {
        self.process && matches!(self.state, State::Running | State::Killing)
    }

    /// Takes it: its resources are brought.
    pub(crate) fn init(&mut self, ctx: &mut Ctx<'_>) {
        if self.step(Input::Init) {
            let (container, user) = (self.spec.container, self.spec.user.clone());
            ctx.emit(Action::Localize { container, user });
        }
    }

    /// Its resources are there.
    pub(crate) fn on_localized(&mut self, ctx: &mut Ctx<'_>) {
        if self.step(Input::Localized) {
            ctx.emit(Action::Launch {
                container: self.spec.container,
                gpus: self.gpus.clone(),
            });
        }
    }

    /// A resource could not be brought; the exit code stays -1000.
    pub(crate) fn on_localization_failed(&mut self, diagnostics: &str, ctx: &mut Ctx<'_>) {
        if self.step(Input::LocalizationFailed) {
            self.note(diagnostics, ctx);
            ctx.emit(Action::Teardown {
                container: self.spec.container,
            });
        }
    }

    /// Its process runs; one that is to end gets its signal now.
    pub(crate) fn on_launched(&mut self, ctx: &mut Ctx<'_>) {
        if !self.step(Input::Launched) {
            return;
        }
        self.process = true;
        if self.state == State::Killing {
            self.terminate(ctx);
        } else {
            ctx.urgent = true;
        }
    }

    /// Its process could not be started: ends like a process that failed with this code.
    pub(crate) fn on_launch_failed(&mut self, code: i32, diagnostics: &str, ctx: &mut Ctx<'_>) {
        let killing = self.state == State::Killing;
        if !self.step(Input::ExitedBadly) {
            return;
        }
        if !killing {
            self.exit_code = code;
        }
        self.note(diagnostics, ctx);
        self.over(ctx);
    }

    /// Its process ended.
    pub(crate) fn on_exited(&mut self, code: i32, message: &str, tails: &Tails, ctx: &mut Ctx<'_>) {
        let was = self.state;
        let by_signal = texts::is_kill(code);
        let input = match code {
            0 => Input::ExitedWell,
            _ if by_signal => Input::ExitedBySignal,
            _ => Input::ExitedBadly,
        };
        if !self.step(input) {
            return;
        }
        match self.state {
            State::ExitedWithSuccess if self.exit_code != exit::ABORTED => self.exit_code = 0,
            State::CleanedUpAfterKill if self.exit_code != exit::INVALID => {}
            // A device was at fault: however the process takes that, it is not counted against it.
            _ if self.exit_code == exit::ABORTED => {}
            _ => self.exit_code = code,
        }
        if code != 0 {
            let launch = if by_signal {
                texts::killed_on_request(code)
            } else {
                texts::launch_exception(&self.spec.container.to_string(), code, message)
            };
            self.note(&launch, ctx);
            self.note(&texts::exited(code, tails), ctx);
            if by_signal && was != State::Killing {
                self.note(texts::KILLED_BY_EXTERNAL_SIGNAL, ctx);
            }
        }
        self.over(ctx);
    }

    /// Somebody wants it to end; the first reason counts.
    pub(crate) fn on_kill(&mut self, code: i32, why: &str, ctx: &mut Ctx<'_>) {
        let was = self.state;
        if !self.step(Input::Kill) {
            return;
        }
        self.exit_code = code;
        self.note(why, ctx);
        match was {
            State::New => {
                self.note("Container is killed before being launched.", ctx);
                ctx.done.push(self.spec.container);
            }
            State::Localizing => {
                self.note("Container is killed before being launched.", ctx);
                let container = self.spec.container;
                ctx.emit(Action::CancelLocalization { container });
                ctx.emit(Action::Teardown { container });
            }
            State::Running => self.terminate(ctx),
            // Being started: the signal follows when its process is known.
            _ => {}
        }
    }

    /// It has another size by a newer token; true where it grew.
    pub(crate) fn on_update(&mut self, update: &UpdateSpec, ctx: &mut Ctx<'_>) -> bool {
        let was = std::mem::replace(&mut self.spec.resource, update.resource);
        self.spec.version = update.version;
        if was == update.resource {
            return false;
        }
        ctx.emit(Action::Resize {
            container: self.spec.container,
            resource: update.resource,
        });
        was.fits(update.resource)
    }

    /// Nothing of it is left.
    pub(crate) fn on_torn_down(&mut self, ctx: &mut Ctx<'_>) {
        if self.step(Input::TornDown) {
            ctx.done.push(self.spec.container);
        }
    }

    /// Sends a signal that somebody asked for; without a process there is nobody to send it to.
    pub(crate) fn on_signal(&mut self, signal: Signal, ctx: &mut Ctx<'_>) {
        if self.has_process() {
            ctx.emit(Action::Signal {
                container: self.spec.container,
                signal,
            });
        }
    }

    /// The time that SIGTERM gives is over.
    pub(crate) fn on_tick(&mut self, ctx: &mut Ctx<'_>) {
        if self.kill_at.is_some_and(|at| at <= ctx.now) {
            self.kill_at = None;
            ctx.emit(Action::Signal {
                container: self.spec.container,
                signal: Signal::Kill,
            });
        }
    }

    /// What the ResourceManager and the ApplicationMaster are told.
    pub fn report(&self) -> ContainerReport {
        let done = self.is_done();
        ContainerReport {
            container: self.spec.container,
            state: if done {
                ContainerState::Complete
            } else {
                ContainerState::Running
            },
            sub_state: match self.state {
                State::New | State::Localizing | State::Scheduled => SubState::Scheduled,
                State::Running => SubState::Running,
                State::Done => SubState::Done,
                _ => SubState::Completing,
            },
            exit_code: if done { self.exit_code } else { exit::INVALID },
            diagnostics: self.diagnostics.as_str().to_owned(),
            resource: self.spec.resource,
            priority: self.spec.priority,
            created_wall_ms: self.spec.created_wall_ms,
            allocation_request_id: self.spec.allocation_request_id,
            version: self.spec.version,
            guaranteed: self.spec.guaranteed,
            gpus: Vec::new(),
        }
    }

    fn step(&mut self, input: Input) -> bool {
        let next = self.state.next(input);
        self.state = next.unwrap_or(self.state);
        next.is_some()
    }

    pub(crate) fn note(&mut self, text: &str, ctx: &Ctx<'_>) {
        self.diagnostics
            .add(ctx.wall_ms, text, ctx.conf.diagnostics_bytes_max);
    }

    fn terminate(&mut self, ctx: &mut Ctx<'_>) {
        self.kill_at = Some(ctx.now.plus(ctx.conf.sigkill_delay_ms));
        ctx.emit(Action::Signal {
            container: self.spec.container,
            signal: Signal::Term,
        });
    }

    fn over(&mut self, ctx: &mut Ctx<'_>) {
        self.process = false;
        self.kill_at = None;
        ctx.emit(Action::Teardown {
            container: self.spec.container,
        });
    }
}
