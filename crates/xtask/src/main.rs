//! Repository tasks: `cargo xtask tidy | gen-proto | verify | fix`.
//! May touch: the working tree.
//! Must not: be needed by a plain build.

#![allow(clippy::print_stdout, reason = "a command-line tool talks to its user")]

mod gate;
mod gen_proto;
mod tidy;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("gen-proto") => gen_proto::run(),
        Some("tidy") => tidy::run(),
        Some("verify") => gate::verify(),
        Some("fix") => gate::fix(),
        other => anyhow::bail!("unknown task {other:?}; tasks: tidy, gen-proto, verify, fix"),
    }
}
