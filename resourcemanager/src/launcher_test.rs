//! What of a failed start is tried again.
//! May touch: the launcher's rules.
//! Must not: open sockets (the conversations of `rpc` do).

use super::*;

#[test]
fn only_what_may_pass_is_tried_again() {
    let options = LauncherOptions {
        threads: 1,
        connect_wait: Duration::from_mins(3),
        connect_retry: Duration::from_secs(10),
    };
    let refused = |class: &str| LaunchError::Refused {
        class: class.to_owned(),
        message: String::new(),
    };
    let not_ready = refused("org.apache.hadoop.yarn.exceptions.NMNotYetReadyException");
    assert_eq!(
        not_ready.retry_after(&options),
        Some(Duration::from_secs(1))
    );
    let broken = LaunchError::Call(CallError::Io(std::io::ErrorKind::ConnectionRefused.into()));
    assert_eq!(broken.retry_after(&options), Some(Duration::from_secs(10)));
    let other = refused("org.apache.hadoop.yarn.exceptions.YarnException");
    assert_eq!(other.retry_after(&options), None);
    assert_eq!(LaunchError::Ended.retry_after(&options), None);
}

#[test]
fn a_variable_of_the_rm_replaces_the_clients() {
    let mut environment = Vec::new();
    set_env(&mut environment, "A", "1".to_owned());
    set_env(&mut environment, "B", "2".to_owned());
    set_env(&mut environment, "A", "3".to_owned());
    let pairs: Vec<_> = environment.iter().map(|e| (e.key(), e.value())).collect();
    assert_eq!(pairs, [("B", "2"), ("A", "3")]);
}
