//! Tests of delayed deletion.
//! May touch: a temporary directory.
//! Must not: leave it.

use super::*;

fn tree() -> (tempfile::TempDir, Deletion) {
    let tmp = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(tmp.path().join("usercache/alice/x")).unwrap();
    let deletion = Deletion {
        root: tmp.path().to_owned(),
        rel: "usercache/alice".into(),
    };
    (tmp, deletion)
}

/// Lets spawned deletions come as far as they can without more time.
async fn let_run(deleter: &Deleter) {
    for _ in 0..20 {
        tokio::task::yield_now().await;
        deleter.settle().await;
    }
}

#[tokio::test]
async fn deletion_is_done_off_the_callers_thread() {
    let (tmp, deletion) = tree();
    let deleter = Deleter::new(4, 0);
    deleter.delete(deletion);
    while tmp.path().join("usercache/alice").exists() {
        tokio::task::yield_now().await;
    }
    assert!(tmp.path().join("usercache").is_dir());
}

#[tokio::test]
async fn a_debug_delay_keeps_the_files_and_below_zero_for_ever() {
    for delay in [3600, -1] {
        let (tmp, deletion) = tree();
        let deleter = Deleter::new(1, delay);
        deleter.delete(deletion);
        let_run(&deleter).await;
        assert!(tmp.path().join("usercache/alice/x").is_dir(), "{delay}");
    }
}

#[test]
fn a_cached_resources_own_directory_is_deleted() {
    let dirs = [PathBuf::from("/d1"), PathBuf::from("/d2")];
    let deletion = deletion_of(&dirs, Path::new("/d2/filecache/0/12/a.zip")).unwrap();
    assert_eq!(
        deletion,
        Deletion {
            root: "/d2".into(),
            rel: "filecache/0/12".into()
        }
    );
    assert_eq!(deletion_of(&dirs, Path::new("/etc/passwd")), None);
}
