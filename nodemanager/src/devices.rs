//! What a node has for its devices: isolation, the last reading, variables of containers.
//! May touch: the isolator, the probe, the process environment once.
//! Must not: decide anything after the start.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use gpu_probe::nvml::NvmlProbe;

use crate::{
    boot::BootError,
    driver::Inbox,
    gpu::{self, GpuEnv, LastReading, TOPOLOGY_ENV},
    isolation::{Guard, NodeShape, State},
    settings::Settings,
};

/// Devices of one node.
pub(crate) struct Devices {
    pub(crate) guard: Arc<Guard>,
    pub(crate) cards: LastReading,
    /// `None` where containers' own variables are left alone.
    pub(crate) env: Option<GpuEnv>,
}

/// Tries isolation out.
///
/// # Errors
/// A task of the runtime that died.
pub(crate) async fn devices(
    settings: &Settings,
    unsafe_no_isolation: bool,
) -> Result<Devices, BootError> {
    let counted = settings
        .types
        .gpu_lane()
        .is_some_and(|lane| settings.total.0.get(lane).is_some_and(|n| *n > 0));
    let simulated = settings.gpu.as_ref().and_then(|g| g.simulated.clone());
    let shape = NodeShape {
        local_dir: settings.local_dirs.first().cloned().unwrap_or_default(),
        unsafe_no_isolation,
        counted: counted && settings.gpu.is_none(),
        simulated: simulated.is_some(),
        total: settings.total,
        physical: settings.physical,
    };
    let conf = settings.cgroups.clone();
    let opened = tokio::task::spawn_blocking(move || Guard::open(conf, &shape)).await;
    let guard = Arc::new(opened.map_err(|e| BootError::Other(e.to_string()))?);
    report(settings, guard.state());
    let on = matches!(guard.state(), State::On(_));
    let env = (on || settings.gpu.is_some()).then(|| GpuEnv {
        simulated,
        topology: std::env::var_os(TOPOLOGY_ENV).map(PathBuf::from),
        unsafe_no_isolation,
    });
    Ok(Devices {
        guard,
        cards: Arc::new(Mutex::new(None)),
        env,
    })
}

fn report(settings: &Settings, state: &State) {
    let limits = settings.cgroups.memory.is_some() || settings.cgroups.cpu.is_some();
    match state {
        State::On(_) => tracing::info!("gpu isolation: {state}"),
        State::Unavailable(_) if settings.gpu.is_some() => {
            tracing::error!("gpu isolation: {state}; this node offers no GPU");
        }
        State::Unsafe => tracing::warn!("gpu isolation: {state}"),
        State::Unavailable(_) | State::Off => tracing::info!("gpu isolation: {state}"),
    }
    if limits && !matches!(state, State::On(_)) {
        tracing::warn!("limits by cgroups are not set: {state}; memory is checked by poll");
    }
}

impl Devices {
    /// Starts the loops: isolation is checked, cards are read. Waits for the first reading or
    /// failure, so that the node registers with what it has.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) async fn watch(&self, settings: &Settings, inbox: &Inbox) -> Result<(), BootError> {
        tokio::spawn(Arc::clone(&self.guard).watch(inbox.clone()));
        let Some(gpu) = settings.gpu.as_ref().filter(|_| self.guard.allows_gpus()) else {
            return Ok(());
        };
        let probe = Box::new(NvmlProbe::new(&gpu.library));
        let first = gpu::start(gpu, probe, Arc::clone(&self.cards), inbox.clone())
            .map_err(|e| BootError::Other(format!("cannot start the GPU threads: {e}")))?;
        let _ = first.await;
        Ok(())
    }
}
