//! The NodeManager's executable: command line, logs, signals, exit code.
//! May touch: the process.
//! Must not: know what a NodeManager does.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;
use nodemanager::boot::{self, BootError, Options};
use tokio::signal::unix::{SignalKind, signal};
use yarn_conf::report;

/// A NodeManager that stock YARN clients and ResourceManagers talk to.
#[derive(Parser, Debug)]
#[command(name = "nodemanager", version)]
struct Args {
    /// Directory of core-site.xml, yarn-site.xml and the others; else `HADOOP_CONF_DIR` or
    /// `YARN_CONF_DIR`.
    #[arg(long, value_name = "DIR")]
    config: Option<PathBuf>,
    /// Sets a key over all files; may be repeated.
    #[arg(short = 'D', value_name = "KEY=VALUE", value_parser = assignment)]
    define: Vec<(String, String)>,
    /// Reads the configuration as at start, prints every finding with file and line, and ends: 0 if
    /// it would start, else 1.
    #[arg(long)]
    check: bool,
    /// With --check: prints first the effective value of every key that is set, and where it is set.
    #[arg(long, requires = "check")]
    print: bool,
    /// With --check: reads FILE in place of the directory's KIND.xml.
    #[arg(long, requires = "check", value_name = "KIND=FILE", value_parser = report::replacement)]
    file: Option<(String, PathBuf)>,
    /// Where to log; standard error when not given.
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// error, warn, info, debug, trace, or target=level with commas between.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: String,
    /// When the log file is put aside.
    #[arg(long, value_enum, default_value = "size")]
    log_rotate: daemon_log::Rotate,
    /// Offers GPUs although containers are not kept from those of others: neither device rules
    /// nor limits by cgroups are set.
    #[arg(long)]
    unsafe_no_isolation: bool,
    /// File for the addresses of the open ports, written once the node has registered.
    #[arg(long, value_name = "FILE")]
    endpoints_file: Option<PathBuf>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("want key=value")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            // Once for whoever started it, once for the log.
            tracing::error!("{e:#}");
            complain(&format!("nodemanager: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr)] // the user's side of the command line
fn complain(text: &str) {
    eprintln!("{text}");
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

fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = Options {
        config: args.config,
        overrides: args.define,
        endpoints_file: args.endpoints_file,
        binaries: None,
        unsafe_no_isolation: args.unsafe_no_isolation,
    };
    if args.check {
        return check(&options, args.file, args.print);
    }
    daemon_log::start(args.log_file.as_deref(), &args.log_level, args.log_rotate)
        .map_err(anyhow::Error::msg)?;
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
