//! `cargo xtask verify` (writes nothing) and its mutating twin `cargo xtask fix`.
//! May touch: cargo.
//! Must not: hold a check that only one of the two knows.

use std::process::Command;

use anyhow::{Context, bail};

fn cargo(args: &[&str]) -> anyhow::Result<()> {
    println!("cargo {}", args.join(" "));
    let status = Command::new(env!("CARGO"))
        .args(args)
        .status()
        .context("start cargo")?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    Ok(())
}

/// Formatting, lints, tests, documentation and tidy; changes no file of the repository.
///
/// # Errors
/// The first check that fails.
pub fn verify() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ])?;
    crate::tidy::run()?;
    cargo(&["test", "--workspace", "--quiet"])?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])
}

/// Formats, and applies what clippy can apply.
///
/// # Errors
/// The first step that fails.
pub fn fix() -> anyhow::Result<()> {
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--fix",
        "--allow-dirty",
        "--quiet",
    ])?;
    cargo(&["fmt", "--all"])
}
