//! Tests of the order of actions and of refusals.
//! May touch: nothing outside memory.
//! Must not: start processes.

use super::*;
use crate::spec::AccountIds;

fn spec(account: Option<AccountIds>) -> LaunchSpec {
    LaunchSpec {
        argv: vec!["/bin/bash".into(), "x".into()],
        env: vec![],
        work_dir: "/w".into(),
        account,
        umask: 0o022,
        nice: Some(5),
        cgroup_procs: vec!["/c/cgroup.procs".into()],
        pid_file: None,
        exit_code_file: None,
        supervise: true,
    }
}

fn ids(uid: u32, gid: u32, groups: &[u32]) -> AccountIds {
    AccountIds {
        uid,
        gid,
        groups: groups.to_vec(),
    }
}

#[test]
fn privileged_actions_come_before_the_account_change() {
    let ops = plan(&spec(Some(ids(99, 98, &[98, 97]))), 0).unwrap();
    assert_eq!(
        ops,
        vec![
            Op::NewSession,
            Op::JoinCgroup("/c/cgroup.procs".into()),
            Op::Nice(5),
            Op::Umask(0o022),
            Op::ChangeDir("/w".into()),
            Op::SetGroups(vec![98, 97]),
            Op::SetGid(98),
            Op::SetUid(99),
            Op::DieWithParent,
        ]
    );
}

#[test]
fn root_is_refused_in_every_form() {
    for account in [
        None,
        Some(ids(0, 5, &[])),
        Some(ids(5, 0, &[])),
        Some(ids(5, 5, &[5, 0])),
    ] {
        assert!(matches!(
            plan(&spec(account), 0),
            Err(PlanError::Root { .. })
        ));
    }
}

#[test]
fn an_ordinary_user_stays_itself_and_cannot_become_another() {
    assert!(plan(&spec(None), 1000).is_ok());
    assert!(plan(&spec(Some(ids(1000, 1000, &[]))), 1000).is_ok());
    let refused = plan(&spec(Some(ids(1001, 1001, &[]))), 1000);
    assert_eq!(
        refused,
        Err(PlanError::NotPrivileged {
            own: 1000,
            wanted: 1001
        })
    );
}

#[test]
fn a_relative_program_is_refused() {
    let mut s = spec(Some(ids(9, 9, &[])));
    s.argv = vec!["bash".into()];
    assert!(matches!(
        plan(&s, 0),
        Err(PlanError::NotAbsolute {
            field: "argv[0]",
            ..
        })
    ));
}
