//! Tests of the specification frame.
//! May touch: nothing outside memory.
//! Must not: start processes.

use super::*;

fn spec() -> LaunchSpec {
    LaunchSpec {
        argv: vec!["/bin/true".into()],
        env: vec![("A".into(), "b c".into())],
        work_dir: "/".into(),
        account: Some(AccountIds {
            uid: 7,
            gid: 8,
            groups: vec![8],
        }),
        umask: 0o022,
        nice: None,
        cgroup_procs: vec![],
        pid_file: None,
        exit_code_file: None,
        supervise: true,
    }
}

#[test]
fn what_follows_the_record_is_left_on_the_stream() {
    let mut bytes = encode(&spec()).unwrap();
    bytes.extend_from_slice(b"rest");
    let mut stream = bytes.as_slice();
    assert_eq!(read(&mut stream).unwrap(), spec());
    assert_eq!(stream, b"rest");
}

#[test]
fn a_length_over_the_cap_is_refused_before_any_allocation() {
    let mut stream: &[u8] = &[0xff, 0xff, 0xff, 0xff];
    assert!(matches!(read(&mut stream), Err(SpecError::TooLong(_))));
}

#[test]
fn an_unknown_field_is_refused() {
    let mut value = serde_json::to_value(spec()).unwrap();
    value["setuid"] = true.into();
    let json = value.to_string();
    let mut bytes = u32::try_from(json.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(json.as_bytes());
    assert!(matches!(
        read(&mut bytes.as_slice()),
        Err(SpecError::Json(_))
    ));
}
