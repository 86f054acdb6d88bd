//! `resourcemanager`: options, configuration, start, SIGTERM.
//! May touch: the process: arguments, environment, signals, stderr, exit code.
//! Must not: hold logic that a test would want.

use std::{collections::BTreeMap, io::Write as _, path::Path, process::ExitCode, sync::Arc};

use anyhow::Context as _;
use clap::Parser;
use daemon_log::CommonOptions;
use resourcemanager::{
    boot::{self, Daemon, FromFiles, StartError},
    rpc::HADOOP_VERSION,
};
use tokio::signal::unix::{SignalKind, signal};
use yarn_conf::{
    Configuration, Daemon as ConfDaemon, LoadOptions, gate, report, resolve_dir, system_properties,
};

/// The Heddle ResourceManager: a YARN ResourceManager for GPU clusters.
#[derive(Parser)]
#[command(name = "resourcemanager", disable_version_flag = true)]
struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Prints the version.
    #[arg(long)]
    version: bool,
}

#[allow(clippy::print_stdout, reason = "answers of a command line")]
fn print_version() {
    println!(
        "Heddle ResourceManager {} (Hadoop {HADOOP_VERSION})",
        env!("CARGO_PKG_VERSION")
    );
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.version {
        print_version();
        return ExitCode::SUCCESS;
    }
    let done = if options.common.check {
        check(&options)
    } else {
        run(&options).map(|()| ExitCode::SUCCESS)
    };
    match done {
        Ok(code) => code,
        Err(e) => {
            // Our own errors say all in one sentence; others keep their cause behind them.
            let sentence = match e.downcast_ref::<StartError>() {
                Some(ours) => ours.to_string(),
                None => format!("{e:#}"),
            };
            if options.common.log_file.is_some() {
                tracing::error!("{sentence}");
            }
            // The one sentence why it does not start; where nothing can be written it goes nowhere.
            let _ = writeln!(std::io::stderr(), "resourcemanager: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Whether it would start; what is to be said of the configuration is printed.
#[allow(clippy::print_stdout, reason = "what --check is asked for")]
fn check(options: &Options) -> anyhow::Result<ExitCode> {
    let mut load = load_options(options)?;
    load.instead.clone_from(&options.common.file);
    let conf = match Configuration::load(&load) {
        Ok(conf) => conf,
        Err(e) => {
            println!("{}", report::unreadable(&e));
            return Ok(ExitCode::FAILURE);
        }
    };
    let findings = boot::check(&conf, options.common.file.is_some());
    let values = options.common.print.then(|| report::effective(&conf));
    for line in values.into_iter().flatten().chain(findings.lines()) {
        println!("{line}");
    }
    Ok(if findings.accepted() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run(options: &Options) -> anyhow::Result<()> {
    options.common.start_log().map_err(anyhow::Error::msg)?;
    let load = load_options(options)?;
    let conf = Configuration::load(&load).map_err(StartError::from)?;
    pass_gate(&conf)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(serve(&conf, load, options.common.endpoints_file.as_deref()))
}

fn load_options(options: &Options) -> Result<LoadOptions, StartError> {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect();
    let dir = resolve_dir(options.common.config.as_deref(), &env)?;
    let mut load = LoadOptions::new(dir, ConfDaemon::ResourceManager);
    load.overrides.clone_from(&options.common.define);
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid())
        .ok()
        .flatten();
    let name = user.as_ref().map_or_else(String::new, |u| u.name.clone());
    let home = user.map_or_else(String::new, |u| u.dir.display().to_string());
    let tmp = std::env::temp_dir().display().to_string();
    let here = std::env::current_dir()
        .unwrap_or_default()
        .display()
        .to_string();
    load.properties = system_properties(&name, &home, &tmp, &here);
    load.env = env;
    Ok(load)
}

/// Says once what is refused, what does not happen and what has no effect.
fn pass_gate(conf: &Configuration) -> Result<(), StartError> {
    let gate = gate::check(ConfDaemon::ResourceManager, conf);
    if !gate.refused.is_empty() {
        return Err(StartError::Refused(gate.refused));
    }
    for warning in &gate.warnings {
        tracing::warn!("{warning}");
    }
    if !gate.without_effect.is_empty() {
        tracing::info!(
            keys = gate.without_effect.join(" "),
            "keys without effect here"
        );
    }
    Ok(())
}

async fn serve(
    conf: &Configuration,
    load: LoadOptions,
    endpoints: Option<&Path>,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch SIGINT")?;
    let daemon = Daemon::start(conf, Arc::new(FromFiles(load)))?;
    if let Some(path) = endpoints {
        daemon.write_endpoints(path)?;
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        "ResourceManager started"
    );
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
        _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
    }
    daemon.stop().await;
    tracing::info!("ResourceManager stopped");
    Ok(())
}
