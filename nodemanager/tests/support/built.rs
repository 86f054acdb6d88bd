//! The programs that a node starts, of the same build as the running test.
//! May touch: cargo, the target directory.
//! Must not: be part of the product.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Where they are. A test of the NodeManager's package alone does not build those of others, so
/// that is seen to first, where this account may build.
pub fn programs() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let exe = std::env::current_exe().unwrap();
        let dir = exe.parent().unwrap().parent().unwrap().to_owned();
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let may_build = nix::unistd::access(&dir, nix::unistd::AccessFlags::W_OK).is_ok();
        let cargo = std::env::var_os("CARGO").filter(|_| may_build && manifest.is_file());
        if let Some(cargo) = cargo {
            let mut build = Command::new(cargo);
            build.args(["build", "--quiet", "--package", "isolator", "--package"]);
            build
                .args(["container-localizer", "--package", "fake-nvml"])
                .args(["--lib", "--bins", "--manifest-path"])
                .arg(&manifest);
            if dir.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.status().unwrap().success());
        }
        dir
    })
}
