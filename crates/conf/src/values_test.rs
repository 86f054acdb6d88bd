//! Tests of the typed reads.
//! May touch: tables made here.
//! Must not: resolve names.

use proptest::prelude::*;

use super::{
    HostPort, TimeUnit, parse_duration_ms, parse_float, parse_host_port, parse_integer,
    parse_long_bytes, parse_storage_size,
};
use crate::Configuration;

#[test]
fn integers() {
    for (text, value) in [
        ("42", Some(42)),
        ("-7", Some(-7)),
        ("+7", Some(7)),
        ("0x1F", Some(31)),
        ("-0X10", Some(-16)),
        ("4.5", None),
        ("10s", None),
        ("", None),
        ("0x", None),
        ("1 000", None),
        ("--1", None),
    ] {
        assert_eq!(parse_integer(text), value, "{text}");
    }
    let conf = Configuration::of([("k", " 0x7fffffff "), ("big", "2147483648")]);
    assert_eq!(conf.i32("k", 1), Ok(i32::MAX));
    assert!(conf.i32("big", 1).is_err());
    assert_eq!(conf.i64("big", 1), Ok(2_147_483_648));
    assert_eq!(conf.i32("unset", 5), Ok(5));
}

#[test]
fn an_error_names_key_value_and_what_would_be_right() {
    let conf = Configuration::of([("yarn.x", "10s")]);
    let error = conf.i32("yarn.x", 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "-D: yarn.x = '10s': is not an integer (decimal or 0x…, no unit) from -2147483648 to 2147483647"
    );
    let conf = Configuration::of([("ssl.keystore.password", "10s")]);
    let error = conf
        .i32("ssl.keystore.password", 1)
        .unwrap_err()
        .to_string();
    assert!(!error.contains("10s"), "{error}");
}

#[test]
fn floats() {
    for (text, value) in [
        ("2.1", Some(2.1_f32)),
        ("1f", Some(1.0)),
        (".5d", Some(0.5)),
        ("1e3", Some(1000.0)),
        ("-Infinity", Some(f32::NEG_INFINITY)),
        ("inf", None),
        ("50%", None),
        ("", None),
    ] {
        assert_eq!(parse_float(text), value, "{text}");
    }
}

#[test]
fn durations() {
    use TimeUnit::{Milliseconds, Seconds};
    for (text, unit, value) in [
        ("10s", Milliseconds, Some(10_000)),
        ("10", Milliseconds, Some(10)),
        ("10", Seconds, Some(10_000)),
        ("2M", Milliseconds, Some(120_000)),
        ("1d", Milliseconds, Some(86_400_000)),
        ("1500us", Milliseconds, Some(1)),
        ("1500000ns", Milliseconds, Some(1)),
        ("9223372036854775807d", Milliseconds, Some(i64::MAX)),
        ("5 m", Milliseconds, None),
        ("m", Milliseconds, None),
        ("", Milliseconds, None),
    ] {
        assert_eq!(parse_duration_ms(text, unit), value, "{text}");
    }
}

#[test]
fn byte_sizes() {
    assert_eq!(parse_long_bytes("2g"), Ok(2 << 30));
    assert_eq!(parse_long_bytes("128"), Ok(128));
    assert_eq!(parse_long_bytes("1K"), Ok(1024));
    assert!(parse_long_bytes("9e").unwrap_err().contains("does not fit"));
    assert!(parse_long_bytes("").is_err());
    assert!(parse_long_bytes("é").unwrap_err().contains("prefix 'é'"));
    assert_eq!(parse_storage_size("1.5 kb"), Some(1536.0));
    assert_eq!(parse_storage_size("3 bytes"), Some(3.0));
    assert_eq!(parse_storage_size("2GB"), Some(2_147_483_648.0));
    assert_eq!(parse_storage_size("512"), None);
    assert_eq!(parse_storage_size("mb"), None);
}

#[test]
fn lists() {
    let conf = Configuration::of([("a", " x, y\n, z,,"), ("b", " "), ("c", ",a")]);
    assert_eq!(conf.trimmed_strings("a").unwrap(), ["x", "y", "", "z"]);
    assert_eq!(conf.strings("a").unwrap(), [" x", " y\n", " z"]);
    assert!(conf.trimmed_strings("b").unwrap().is_empty());
    assert_eq!(conf.strings("b").unwrap(), [" "]);
    assert_eq!(conf.trimmed_strings("c").unwrap(), ["", "a"]);
    assert!(conf.strings("unset").unwrap().is_empty());
}

#[test]
fn addresses() {
    let ok = |text: &str, host: &str, port| {
        let wanted = HostPort {
            host: host.to_owned(),
            port,
        };
        assert_eq!(parse_host_port(text, 8032), Some(wanted), "{text}");
    };
    ok("h1:1", "h1", 1);
    ok("h1", "h1", 8032);
    ok("h1:", "h1", 8032);
    ok("0.0.0.0:0", "0.0.0.0", 0);
    ok("rm.example.org.:9", "rm.example.org.", 9);
    ok("[::1]:9", "[::1]", 9);
    ok("hdfs://nn:9000/x", "nn", 9000);
    ok("3f2ab4", "3f2ab4", 8032);
    for text in [
        "h1:zz", "", ":1", "a_b:1", "h:1:2", "h:65536", "h:1/x", "1.2.3:4", "h h:1", "-a:1",
        "[::1", "h:-1", "a..b",
    ] {
        assert_eq!(parse_host_port(text, 8032), None, "{text}");
    }
    let conf = Configuration::of([("yarn.resourcemanager.address", "h1:zz")]);
    let error = conf
        .host_port("yarn.resourcemanager.address", "0.0.0.0:8032", 8032)
        .unwrap_err();
    assert_eq!(
        error.text,
        "Does not contain a valid host:port authority: h1:zz (configuration property 'yarn.resourcemanager.address')"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,24}") {
        let conf = Configuration::of([("k", text.as_str())]);
        let _ = (conf.i32("k", 0), conf.f32("k", 0.0), conf.bool("k", false), conf.strings("k"));
        let _ = (conf.trimmed_strings("k"), conf.long_bytes("k", 0), conf.storage_size("k", 0.0));
        let _ = conf.duration_ms("k", TimeUnit::Seconds, 0);
        let _ = conf.host_port("k", "", 1);
    }
}
