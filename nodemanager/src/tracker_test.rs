//! Tests: the version check of a registration.
//! May touch: the module under test.
//! Must not: open sockets (the whole exchange is tested in tests/).

use super::*;

#[test]
fn an_old_resource_manager_is_refused_where_a_minimum_is_set() {
    assert_eq!(version_fault("NONE", ""), None);
    assert_eq!(version_fault("EqualToNM", "3.5.0"), None);
    assert_eq!(version_fault("3.10.0", "3.10.1-SNAPSHOT"), None);
    assert!(
        version_fault("EqualToNM", "3.4.9")
            .unwrap()
            .contains("3.4.9")
    );
    assert!(version_fault("3.0.0", "").is_some());
}
