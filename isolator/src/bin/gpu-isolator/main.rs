//! `gpu-isolator`: device rules of one cgroup, by hand or from a script.
//! May touch: the cgroup it is given, NVML or a file for UUIDs, standard output.
//! Must not: touch other cgroups, or a ledger: what it does is named on its command line.

mod cards;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use isolator::cgroup::dir::{self, RemovalPatience};
use isolator::cgroup::mounts::Mode;
use isolator::devices::{RuleSet, v1, v2};
use isolator::isolation::{Facts, Spec, apply, plan};
use isolator::limits::LimitSpec;
use serde_json::{Value, json};

const EXIT_CODES: &str = "\
Exit codes:
  0  done; for verify: the rules are exactly those of the options
  1  verify: the rules differ, each difference is printed
  2  the command line is not valid
  3  refused or failed; the reason is on standard error

A container gets null, zero, full, random, urandom, tty, ptmx and pts, and with --gpus its cards,
nvidiactl and nvidia-uvm. Everything else is denied. Root, or CAP_BPF with CAP_NET_ADMIN for
cgroup v2, is needed for all but plan.";

/// Sets, checks and removes the device rules of one cgroup (v1 devices controller or cgroup2).
#[derive(Parser)]
#[command(name = "gpu-isolator", version, after_help = EXIT_CODES)]
struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print the rules, change nothing.
    Plan(Which),
    /// Make the cgroup where it does not exist, set the rules, read them back.
    Apply(Which),
    /// Compare the rules that the kernel holds with those of the options.
    Verify(Which),
    /// Take the rules away: processes in the cgroup can then reach every device.
    Undo {
        /// The cgroup.
        #[arg(long, value_name = "PATH")]
        cgroup: PathBuf,
        /// Also kill what runs in it and remove it.
        #[arg(long)]
        remove: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Which {
    /// Directory of the cgroup, on a v1 devices mount or on cgroup2.
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// Cards to open, by UUID; none without it.
    #[arg(long, value_name = "UUID,…", value_delimiter = ',')]
    gpus: Vec<String>,
    /// Minor numbers of the cards: a JSON list of {"uuid": …, "minor": …}; NVML is asked without it.
    #[arg(long, value_name = "FILE")]
    devices: Option<PathBuf>,
    /// The NVML library.
    #[arg(long, value_name = "FILE", default_value = "libnvidia-ml.so.1")]
    nvml_library: String,
    /// A further device node to open; repeatable.
    #[arg(long, value_name = "PATH")]
    node: Vec<PathBuf>,
    /// The cards are simulated: nvidia-uvm is 511:0.
    #[arg(long)]
    simulated: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What the options come to on this machine.
struct Wanted {
    mode: Mode,
    rules: RuleSet,
    missing: Vec<String>,
}

impl Which {
    fn wanted(&self) -> anyhow::Result<Wanted> {
        let uuids: Vec<String> = self
            .gpus
            .iter()
            .filter(|u| !u.is_empty())
            .cloned()
            .collect();
        let known = match &self.devices {
            Some(file) => cards::from_file(file)?,
            None if uuids.is_empty() => BTreeMap::new(),
            None => cards::from_nvml(&self.nvml_library)?,
        };
        let mode = mode_of(&self.cgroup)?;
        let spec = Spec {
            container: String::new(), // the path names the cgroup
            hierarchy: String::new(),
            mode,
            gpu_minors: cards::minors(&uuids, &known)?,
            simulated_gpus: self.simulated,
            nodes: self.node.clone(),
            limits: LimitSpec::default(),
        };
        let (rules, missing) = plan::device_rules(&spec, &Facts::read(&self.node))?;
        Ok(Wanted {
            mode,
            rules,
            missing,
        })
    }
}

fn mode_of(cgroup: &Path) -> anyhow::Result<Mode> {
    if !cgroup.is_absolute() {
        bail!("--cgroup {}: must be an absolute path", cgroup.display());
    }
    dir::mode_of(cgroup)
        .with_context(|| format!("--cgroup {}: not on a cgroup file system", cgroup.display()))
}

/// What is printed: lines for people, or the same as JSON.
struct Report {
    lines: Vec<String>,
    json: Value,
    code: u8,
}

fn describe(which: &Which, wanted: &Wanted) -> Value {
    json!({
        "cgroup": which.cgroup,
        "mode": wanted.mode,
        "rules": wanted.rules,
        "missing": wanted.missing,
    })
}

fn missing(wanted: &Wanted) -> impl Iterator<Item = String> {
    wanted.missing.iter().map(|what| format!("missing: {what}"))
}

fn planned(which: &Which) -> anyhow::Result<Report> {
    let wanted = which.wanted()?;
    let rules = wanted.rules.rules().iter().map(ToString::to_string);
    Ok(Report {
        lines: rules.chain(missing(&wanted)).collect(),
        json: describe(which, &wanted),
        code: 0,
    })
}

fn applied(which: &Which) -> anyhow::Result<Report> {
    let wanted = which.wanted()?;
    dir::make(&which.cgroup)?;
    let attached = apply::set_devices(&which.cgroup, wanted.mode, &wanted.rules)?;
    let found = apply::verify_devices(&which.cgroup, wanted.mode, &wanted.rules, attached.as_ref());
    if !found.is_empty() {
        bail!(isolator::isolation::Error::ReadBack(found));
    }
    let count = wanted.rules.rules().len();
    let done = format!(
        "{}: {count} rules applied and read back",
        which.cgroup.display()
    );
    let mut json = describe(which, &wanted);
    json["applied"] = json!(true);
    Ok(Report {
        lines: std::iter::once(done).chain(missing(&wanted)).collect(),
        json,
        code: 0,
    })
}

fn verified(which: &Which) -> anyhow::Result<Report> {
    let wanted = which.wanted()?;
    let found = apply::verify_devices(&which.cgroup, wanted.mode, &wanted.rules, None);
    let mut lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    let mut json = describe(which, &wanted);
    json["differences"] = json!(lines);
    if lines.is_empty() {
        lines.push(format!("{}: as applied", which.cgroup.display()));
    }
    Ok(Report {
        lines,
        json,
        code: u8::from(!found.is_empty()),
    })
}

fn undone(cgroup: &Path, remove: bool) -> anyhow::Result<Report> {
    let mode = mode_of(cgroup)?;
    if remove {
        // Not released first: rules hold until the last process is gone.
        dir::remove(cgroup, RemovalPatience::default())?;
    } else {
        match mode {
            Mode::V1 => v1::release(cgroup)?,
            Mode::V2 => v2::release(cgroup)?,
        }
    }
    let what = if remove { "removed" } else { "rules removed" };
    Ok(Report {
        lines: vec![format!("{}: {what}", cgroup.display())],
        json: json!({ "cgroup": cgroup, "mode": mode, "removed": remove }),
        code: 0,
    })
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let (report, json) = match &options.verb {
        Verb::Plan(which) => (planned(which)?, which.json),
        Verb::Apply(which) => (applied(which)?, which.json),
        Verb::Verify(which) => (verified(which)?, which.json),
        Verb::Undo {
            cgroup,
            remove,
            json,
        } => (undone(cgroup, *remove)?, *json),
    };
    let text = if json {
        report.json.to_string()
    } else {
        report.lines.join("\n")
    };
    writeln!(std::io::stdout(), "{text}").context("standard output")?;
    Ok(ExitCode::from(report.code))
}

/// The error and its causes; most of ours name their cause already.
fn text_of(error: &anyhow::Error) -> String {
    error
        .chain()
        .skip(1)
        .fold(error.to_string(), |text, cause| {
            let cause = cause.to_string();
            if text.ends_with(&cause) {
                text
            } else {
                format!("{text}: {cause}")
            }
        })
}

fn main() -> ExitCode {
    run(&Options::parse()).unwrap_or_else(|e| {
        let _ = writeln!(std::io::stderr(), "gpu-isolator: {}", text_of(&e));
        ExitCode::from(3)
    })
}
