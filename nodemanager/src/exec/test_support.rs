//! What the tests of this module share.
//! May touch: temporary directories, the environment variable CI (read only).
//! Must not: be part of the product.

use std::path::PathBuf;

/// Whether the tests run as root.
pub fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

/// `true` as root; else says so for the test runner, and fails where that is not allowed.
pub fn need_root(test: &str) -> bool {
    if is_root() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none_or(|v| v != "true"),
        "{test} needs root"
    );
    println!("SKIP {test}: needs root");
    false
}

/// Path of a program of this workspace, beside the test executable.
pub fn built(name: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let dir = exe.parent().unwrap().parent().unwrap();
    let path = dir.join(name);
    assert!(
        path.is_file(),
        "{}: build the workspace's programs first",
        path.display()
    );
    path
}
