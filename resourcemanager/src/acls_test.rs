//! Who sees and changes an application, and who administers.
//! May touch: lists, reports without a core.
//! Must not: look up an account other than this process's own.

use super::*;

#[test]
fn administrators_are_those_of_the_list_and_this_process() {
    let conf = Configuration::of([(ADMIN_ACL, "root2 ops")]);
    let list = admins(&conf);
    let own = nix::unistd::User::from_uid(nix::unistd::geteuid());
    let own = own.unwrap().expect("this process has an account").name;
    let ops = ["ops".to_owned()];
    let allows = |user: &str, groups| list.allows(Caller { user, groups });
    assert!(allows(&own, &[]));
    assert!(allows("root2", &[]));
    assert!(allows("anyone", &ops));
    assert!(!allows("anyone", &[]));
    assert!(admins(&Configuration::of([])).is_all());
}

#[test]
fn administrators_are_replaced_by_a_refresh() {
    let acls = Acls::read(&Configuration::of([(ADMIN_ACL, " ")])).unwrap();
    let alice = Who {
        user: "alice".into(),
        groups: Vec::new(),
    };
    assert!(!acls.is_admin(alice.caller()));
    acls.replace_admins(AccessList::parse("alice"));
    assert!(acls.is_admin(alice.caller()));
}

#[test]
fn who_may_not_change_an_application_reads_it_in_the_words_of_stock() {
    let text = denied(format_args!("User bob cannot")).message;
    assert_eq!(
        text,
        "java.security.AccessControlException: User bob cannot"
    );
}
