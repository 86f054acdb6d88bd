//! The NodeManager's executable: command line, logs, signals, exit code.
//! May touch: the process.
//! Must not: know what a NodeManager does.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;
use daemon_log::CommonOptions;
use nodemanager::boot::{self, BootError, Options};
use tokio::signal::unix::{SignalKind, signal};
use yarn_conf::report;

/// A NodeManager that stock YARN clients and ResourceManagers talk to.
#[derive(Parser, Debug)]
#[command(name = "nodemanager", version)]
struct Args {
    #[command(flatten)]
    common: CommonOptions,
    /// Offers GPUs although containers are not kept from those of others: neither device rules
    /// nor limits by cgroups are set.
    #[arg(long)]
    unsafe_no_isolation: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            // Once for whoever started it, once for the log.
            tracing::error!("{e:#}");
            complain(&format!("nodemanager: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The user's side of the command line; where nothing can be written there is nobody to tell.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[allow(clippy::print_stdout)] // what --check is asked for
fn tell(text: &str) {
    println!("{text}");
}

/// Whether it would start; what is to be said of the configuration is printed.
fn check(
    options: &Options,
    instead: Option<(String, PathBuf)>,
    print: bool,
) -> anyhow::Result<ExitCode> {
    let conf = match boot::load(options, instead) {
        Ok(conf) => conf,
        Err(BootError::Load(e)) => {
            tell(&report::unreadable(&e));
            return Ok(ExitCode::FAILURE);
        }
        Err(e) => return Err(e.into()),
    };
    let findings = boot::check(&conf);
    let values = print.then(|| report::effective(&conf));
    for line in values.into_iter().flatten().chain(findings.lines()) {
        tell(&line);
    }
    Ok(if findings.accepted() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let common = args.common.clone();
    let options = Options {
        config: common.config,
        overrides: common.define,
        endpoints_file: common.endpoints_file,
        binaries: None,
        unsafe_no_isolation: args.unsafe_no_isolation,
    };
    if common.check {
        return check(&options, common.file, common.print);
    }
    args.common.start_log().map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("nodemanager")
        .build()
        .context("cannot start threads")?;
    let code = runtime.block_on(serve(options))?;
    runtime.shutdown_background();
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

async fn serve(options: Options) -> anyhow::Result<i32> {
    let mut term = signal(SignalKind::terminate()).context("cannot take SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot take SIGINT")?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, pid = std::process::id(), "NodeManager starts");
    let mut node = boot::start(options).await?;
    tracing::info!(node = %node.id, http_port = node.http_port, "ports are open");
    let stopper = node.stopper();
    let signals = tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = term.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            stopper.stop(name);
        }
    });
    let (code, reason) = match node.registered().await {
        Some(end) => end,
        None => node.ended().await,
    };
    signals.abort();
    node.close().await;
    if code == 0 {
        tracing::info!(reason, "NodeManager ended");
        return Ok(code);
    }
    anyhow::bail!("{reason}")
}
