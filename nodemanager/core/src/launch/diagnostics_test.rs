//! Tests of the texts, against lines seen from Hadoop 3.
//! May touch: nothing outside memory.
//! Must not: read files.

use super::*;

#[test]
fn a_failed_launch_reads_as_in_hadoop() {
    let tails = Tails {
        bytes: 4096,
        prelaunch: Some(Tail {
            name: "prelaunch.err".into(),
            text: String::new(),
        }),
        stderr_names: vec!["stderr".into()],
        stderr: Some(Tail {
            name: "stderr".into(),
            text: "/bin/bash: x: not found\n".into(),
        }),
    };
    let id = "container_1581660411968_0004_02_000001";
    let all = entry(1_741_618_790_804, &launch_exception(id, 127, ""))
        + &entry(1_741_618_790_816, &exited(127, &tails));
    assert_eq!(
        all,
        "[2025-03-10 14:59:50.804]Exception from container-launch.\n\
         Container id: container_1581660411968_0004_02_000001\n\
         Exit code: 127\n\
         \n\
         [2025-03-10 14:59:50.816]Container exited with a non-zero exit code 127. \
         Error file: prelaunch.err.\n\
         Last 4096 bytes of prelaunch.err :\n\
         Last 4096 bytes of stderr :\n\
         /bin/bash: x: not found\n\n\n"
    );
}

#[test]
fn a_killed_container_shows_no_logs() {
    let tails = Tails {
        bytes: 4096,
        prelaunch: Some(Tail {
            name: "prelaunch.err".into(),
            text: "x".into(),
        }),
        ..Tails::default()
    };
    assert_eq!(
        exited(143, &tails),
        "Container exited with a non-zero exit code 143. "
    );
    assert_eq!(
        killed_on_request(137),
        "Container killed on request. Exit code is 137"
    );
}

#[test]
fn several_error_files_are_named() {
    let tails = Tails {
        bytes: 10,
        prelaunch: None,
        stderr_names: vec!["a.stderr".into(), "stderr".into()],
        stderr: Some(Tail {
            name: "stderr".into(),
            text: "boom".into(),
        }),
    };
    assert_eq!(
        exited(1, &tails),
        "Container exited with a non-zero exit code 1. Error files: a.stderr, stderr.\n\
         Last 10 bytes of stderr :\nboom\n"
    );
}
