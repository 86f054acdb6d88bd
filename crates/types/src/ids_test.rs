//! Text forms of the ids, as Hadoop's `toString` and `fromString` have them.
//! May touch: the ids.
//! Must not: know anything else.

use super::*;

#[test]
fn ids_print_and_parse_as_hadoop_does() {
    for text in [
        "application_1700000000000_0007",
        "application_1700000000000_12345",
    ] {
        assert_eq!(text.parse::<ApplicationId>().unwrap().to_string(), text);
    }
    let attempt = "appattempt_1700000000000_0007_000001";
    assert_eq!(
        attempt.parse::<ApplicationAttemptId>().unwrap().to_string(),
        attempt
    );
    for text in [
        "container_1700000000000_0007_01_000002",
        "container_e17_1410901177871_0001_01_000005",
    ] {
        assert_eq!(text.parse::<ContainerId>().unwrap().to_string(), text);
    }
    let with_epoch: ContainerId = "container_e17_1410901177871_0001_01_000005"
        .parse()
        .unwrap();
    assert_eq!(with_epoch.id, (17 << 40) | 5);
    assert_eq!(
        "nm1.example.com:8041".parse::<NodeId>().unwrap(),
        NodeId::new("nm1.example.com", 8041)
    );
}

#[test]
fn what_is_no_id_is_refused() {
    for text in [
        "",
        "application_",
        "application_1_2_3",
        "application_-1_2",
        "application_+1_2",
        "app_1_2",
    ] {
        assert!(text.parse::<ApplicationId>().is_err(), "{text}");
    }
    for text in [
        "container_e99999999999_1_1_1_1",
        "container_1_1_1_1099511627776",
        "container_1_1_1",
        "container_e_1_1_1_1",
    ] {
        assert!(text.parse::<ContainerId>().is_err(), "{text}");
    }
    for text in [":1", "h", "h:", "h:65536", "h:-1"] {
        assert!(text.parse::<NodeId>().is_err(), "{text}");
    }
}
