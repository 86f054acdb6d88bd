//! Where a build has put the simulated library.
//! May touch: the directories above the running executable.
//! Must not: build anything.

use std::path::PathBuf;

/// `libfake_nvml.so` of the build that this executable belongs to; `None` where there is none.
pub fn library() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let found = exe.ancestors().map(|dir| dir.join("libfake_nvml.so"));
    found.into_iter().find(|path| path.is_file())
}
