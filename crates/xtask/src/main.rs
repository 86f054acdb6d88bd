//! Repository tasks: `cargo xtask gen-proto`.
//! May touch: the working tree.
//! Must not: be needed by a plain build.

mod gen_proto;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("gen-proto") => gen_proto::run(),
        other => anyhow::bail!("unknown task {other:?}; tasks: gen-proto"),
    }
}
