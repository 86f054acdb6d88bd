//! Access lists as Hadoop reads them.
//! May touch: `acl`.
//! Must not: know queues beyond their paths.

use std::collections::BTreeMap;

use super::*;

fn caller<'a>(user: &'a str, groups: &'a [String]) -> Caller<'a> {
    Caller { user, groups }
}

#[test]
fn a_list_names_users_then_groups() {
    let staff = ["staff".to_owned()];
    for (text, alice, member) in [
        ("*", true, true),
        (" * ", true, true),
        ("bob *", true, true),
        (" ", false, false),
        ("", false, false),
        ("alice,bob", true, false),
        (" alice , bob", false, false), // a leading blank begins the groups
        ("alice staff", true, true),
        (" staff", false, true),
        ("bob dev,staff", false, true),
    ] {
        let list = AccessList::parse(text);
        assert_eq!(list.allows(caller("alice", &[])), alice, "{text:?}");
        assert_eq!(list.allows(caller("carol", &staff)), member, "{text:?}");
    }
    assert_eq!(AccessList::parse("a,b g").to_string(), "a,b g");
    assert!(
        AccessList::parse(" ")
            .with_user("yarn")
            .allows(caller("yarn", &[]))
    );
}

#[test]
fn a_child_admits_whom_its_parents_admit() {
    let lists: BTreeMap<_, _> = [("root", " "), ("root.a", "alice"), ("root.a.b", "bob")]
        .map(|(path, text)| (path, AccessList::parse(text)))
        .into();
    let allows = |queue, user| queue_allows(queue, caller(user, &[]), |path| lists.get(path));
    assert!(allows("root.a.b", "bob"));
    assert!(allows("root.a.b", "alice"));
    assert!(!allows("root.a", "bob"));
    assert!(!allows("root", "alice"));
    assert!(
        allows("root.a.b.new", "bob"),
        "a queue to be created has its parent's lists"
    );
}

#[test]
fn administrators_of_a_queue_may_submit() {
    let none = AccessList::parse(" ");
    let admin = AccessList::parse("carol");
    let list_of = |acl, path: &str| match (acl, path) {
        (QueueAcl::AdministerQueue, "root.a") => Some(&admin),
        _ => Some(&none),
    };
    assert!(may_submit("root.a", caller("carol", &[]), list_of));
    assert!(!may_submit("root.a", caller("dave", &[]), list_of));
    assert_eq!(
        submit_refused("dave", "application_1_0001", "root.a"),
        "User dave does not have permission to submit application_1_0001 to queue root.a"
    );
}

#[test]
fn an_application_is_its_owners_unless_lists_say_otherwise() {
    let admins = AccessList::parse("yarn");
    let acls = AppAcls {
        view: AccessList::parse("viewer"),
        modify: AccessList::default(),
    };
    let may = |user, access, queue_admin| {
        may_access(
            caller(user, &[]),
            access,
            "owner",
            &acls,
            &admins,
            queue_admin,
        )
    };
    assert!(may("owner", AppAccess::Modify, false));
    assert!(may("yarn", AppAccess::Modify, false));
    assert!(may("viewer", AppAccess::View, false));
    assert!(!may("viewer", AppAccess::Modify, false));
    assert!(!may("other", AppAccess::View, false));
    assert!(may("other", AppAccess::View, true));
}

#[test]
fn priorities_are_limited_by_user_and_group() {
    let acls = PriorityAcls::parse(
        "[user=u1,u2 group=g1 max_priority=8 default_priority=3] [user=u1 max_priority=4 default_priority=1]",
        6,
    )
    .unwrap();
    assert_eq!(acls.entries()[0].max, 4, "the lowest maximum comes first");
    assert_eq!(
        acls.entries()[1].max,
        6,
        "no more than the cluster's maximum"
    );
    let group = ["g1".to_owned()];
    assert!(acls.allows(caller("u1", &[]), 6));
    assert!(!acls.allows(caller("u1", &[]), 7));
    assert!(acls.allows(caller("x", &group), 5));
    assert!(!acls.allows(caller("x", &[]), 0));
    assert_eq!(acls.default_of(caller("u1", &[])), Some(3));
    assert_eq!(acls.default_of(caller("x", &[])), None);
    let open = PriorityAcls::parse("*", 6).unwrap();
    assert!(open.allows(caller("x", &[]), 99));
}

#[test]
fn malformed_priority_lists_are_refused() {
    for text in [
        "[user=a max_priority=x]",
        "[max_priority=1]",
        "[user=a]",
        "[who=a max_priority=1]",
    ] {
        assert!(PriorityAcls::parse(text, 5).is_err(), "{text}");
    }
}
