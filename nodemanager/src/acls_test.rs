//! Owners, listed viewers and administrators read logs; others do not.
//! May touch: the module under test.
//! Must not: open sockets.

use yarn_proto::yarn::ApplicationAclMapProto;

use super::*;

const APP: ApplicationId = ApplicationId {
    cluster_timestamp: 1,
    id: 1,
};

fn acls(enabled: &'static str) -> NodeAcls {
    let conf = [("yarn.acl.enable", enabled), ("yarn.admin.acl", "ops")];
    let acls = NodeAcls::read(&Configuration::of(conf)).unwrap();
    let view = ApplicationAclMapProto {
        access_type: Some(ApplicationAccessTypeProto::AppaccessViewApp as i32),
        acl: Some("viewer ".to_owned()),
    };
    let context = ContainerLaunchContextProto {
        application_ac_ls: vec![view],
        ..Default::default()
    };
    acls.remember(APP, "owner", &context);
    acls
}

#[test]
fn logs_are_for_those_who_may_see_the_application() {
    let on = acls("true");
    for user in ["owner", "viewer", "ops"] {
        assert!(on.may_view(user, APP), "{user}");
    }
    assert!(!on.may_view("dr.who", APP));
    assert!(acls("false").may_view("dr.who", APP));
}

#[test]
fn a_forgotten_application_is_for_administrators_alone() {
    let on = acls("true");
    on.forget(APP);
    assert!(!on.may_view("owner", APP));
    assert!(on.may_view("ops", APP));
}

#[test]
fn of_many_applications_those_that_may_be_seen_are_told() {
    let other = ApplicationId {
        cluster_timestamp: 1,
        id: 2,
    };
    let on = acls("true");
    assert_eq!(on.visible("viewer", &[other, APP]), [false, true]);
    assert_eq!(on.visible("ops", &[other, APP]), [true, true]);
    assert_eq!(acls("false").visible("viewer", &[other, APP]), [true, true]);
    assert!(!on.filters_lists());
}
