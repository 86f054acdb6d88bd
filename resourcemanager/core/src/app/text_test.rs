//! Texts of killed and failed applications.
//! May touch: the tested module.
//! Must not: know states.

use yarn_types::ApplicationId;

use super::{FailedText, killed};

const APP: ApplicationId = ApplicationId {
    cluster_timestamp: 17,
    id: 3,
};

#[test]
fn a_kill_names_user_peer_and_words() {
    assert_eq!(
        killed(APP, "bob", "", " "),
        "Application application_17_0003 was killed by user bob"
    );
    assert_eq!(
        killed(APP, "bob", "10.1.2.3", " too long \n"),
        "Application application_17_0003 was killed by user bob at 10.1.2.3 with diagnostic \
         message: too long"
    );
}

#[test]
fn a_failure_names_window_and_limits_only_where_they_matter() {
    let text = |max_attempts, validity_ms| {
        FailedText {
            app: APP,
            unmanaged: false,
            beyond: true,
            max_attempts,
            global_max_attempts: 2,
            validity_ms,
            attempt: "X",
        }
        .write()
    };
    let head = "Application application_17_0003 failed";
    assert_eq!(
        text(2, None),
        format!("{head} 2 times due to X. Failing the application.")
    );
    assert_eq!(
        text(2, Some(0)),
        format!("{head} 2 times due to X. Failing the application.")
    );
    assert_eq!(
        text(1, Some(5000)),
        format!(
            "{head} 1 times in previous 5000 milliseconds (global limit =2; local limit is =1) \
             due to X. Failing the application."
        )
    );
}
