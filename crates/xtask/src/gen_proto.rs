//! `cargo xtask gen-proto`: regenerates `crates/proto/src/generated` from `crates/proto/proto`.
//! May touch: those two folders.
//! Must not: need protoc (protox compiles the files), or run in a plain build.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Compiles every `.proto` file and writes one Rust file per protobuf package.
///
/// # Errors
/// A `.proto` file that does not compile, or a folder that cannot be written.
pub fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto");
    let proto = root.join("proto");
    let out = root.join("src/generated");
    std::fs::create_dir_all(&out).context("create crates/proto/src/generated")?;
    let mut files = Vec::new();
    collect(&proto, &mut files)?;
    files.sort();
    let set = protox::compile(&files, [&proto])?;
    let mut config = prost_build::Config::new();
    config.out_dir(&out).disable_comments(["."]);
    config.compile_fds(set)?;
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "proto") {
            files.push(path);
        }
    }
    Ok(())
}
