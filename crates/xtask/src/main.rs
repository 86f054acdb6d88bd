//! Repository tasks: `cargo xtask tidy | gen-proto | verify | fix | replay`.
//! May touch: the working tree.
//! Must not: be needed by a plain build.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

mod gate;
mod gen_proto;
mod replay;
mod tidy;

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("replay") => return Ok(replay::run(&arguments[1..])),
        Some("gen-proto") => gen_proto::run(),
        Some("tidy") => tidy::run(),
        Some("verify") => gate::verify(),
        Some("fix") => gate::fix(),
        other => {
            anyhow::bail!("unknown task {other:?}; tasks: tidy, gen-proto, verify, fix, replay")
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
