//! Tests of who runs a container.
//! May touch: the account database.
//! Must not: change identity.

use super::*;
use crate::exec::test_support::is_root;

#[test]
fn names_that_could_leave_the_usercache_are_refused() {
    for bad in ["", ".", "..", "a/b", "-x", "a b", "ü", "a\0b", "$"] {
        assert!(!is_valid_user(bad), "{bad:?}");
        let refused = account_for(bad, &AccountRules::default());
        assert_eq!(refused, Err(AccountError::BadName(bad.to_owned())));
    }
    for good in ["alice", "a.b-c_d@e", "svc$", "_x"] {
        assert!(is_valid_user(good), "{good:?}");
    }
}

#[test]
fn an_unprivileged_nodemanager_runs_containers_as_itself() {
    if is_root() {
        return; // root's half is below
    }
    let account = account_for("whoever", &AccountRules::default()).unwrap();
    assert_eq!(account.uid, Uid::effective().as_raw());
    assert_eq!(account.ids(), None);
}

#[test]
fn root_never_runs_containers_as_root() {
    if !crate::exec::test_support::need_root("root_never_runs_containers_as_root") {
        return;
    }
    let nobody = account_for("root", &AccountRules::default()).unwrap();
    assert_eq!(nobody.name, "nobody");
    let open = AccountRules {
        limit_users: false,
        ..AccountRules::default()
    };
    // root itself, a banned user, a low uid and an unknown name all fall back.
    for user in ["root", "bin", "daemon", "no-such-user-here"] {
        assert_eq!(account_for(user, &open).unwrap().name, "nobody", "{user}");
    }
    let low = AccountRules {
        min_user_id: 1,
        banned_users: vec![],
        ..open.clone()
    };
    assert_eq!(account_for("daemon", &low).unwrap().name, "daemon");
    let allowed = AccountRules {
        allowed_system_users: vec!["daemon".into()],
        ..open.clone()
    };
    assert_eq!(account_for("daemon", &allowed).unwrap().name, "daemon");
    let banned = AccountRules {
        banned_users: vec!["daemon".into()],
        ..allowed
    };
    assert_eq!(account_for("daemon", &banned).unwrap().name, "nobody");
    let wrong = AccountRules {
        local_user: "root".into(),
        ..open.clone()
    };
    assert_eq!(
        account_for("x", &wrong),
        Err(AccountError::LocalUserIsRoot("root".into()))
    );
    let missing = AccountRules {
        local_user: "no-such-user-here".into(),
        ..open
    };
    assert!(matches!(
        account_for("x", &missing),
        Err(AccountError::NoLocalUser(_))
    ));
}
