//! What the tests of this module share.
//! May touch: temporary directories, the environment (read only), cargo for the two programs.
//! Must not: be part of the product.

#[path = "../../tests/support/built.rs"]
mod built;

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::account::{Account, AccountRules, account_for};
use super::launch::Binaries;

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

/// The programs of this build.
pub fn binaries() -> Binaries {
    let dir = built::programs();
    Binaries {
        launch: dir.join("container-launch"),
        localizer: dir.join("container-localizer"),
    }
}

/// A temporary directory that every account may pass through.
pub fn open_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    dir
}

/// The account that containers of tests run as: nobody below root, else the own.
pub fn account() -> Account {
    account_for("alice", &AccountRules::default()).unwrap()
}
