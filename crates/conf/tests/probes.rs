//! Probe files in tests/data and what Hadoop 3.5.0's `Configuration` answered for them.
//! May touch: tests/data.
//! Must not: take answers from anywhere but a run of Hadoop's classes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::{collections::BTreeMap, path::PathBuf};

use yarn_conf::{Configuration, Daemon, Files, LoadOptions, TimeUnit};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn load(name: &str) -> Result<Configuration, String> {
    let mut options = LoadOptions::new(data(""), Daemon::ResourceManager);
    options.files = Files::Only(data(name));
    options.env = BTreeMap::from([
        ("HOME".to_owned(), "/home/user".to_owned()),
        ("EMPTYV".to_owned(), String::new()),
    ]);
    options.properties = yarn_conf::system_properties("root", "/root", "/tmp", "/");
    Configuration::load(&options).map_err(|e| e.to_string())
}

/// a.xml with b.xml over it, as Hadoop loads two resources.
fn a_and_b() -> Configuration {
    let dir = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("a.xml", "yarn-site.xml"),
        ("b.xml", "capacity-scheduler.xml"),
        ("inc.xml", "inc.xml"),
    ] {
        std::fs::copy(data(from), dir.path().join(to)).unwrap();
    }
    let mut options = LoadOptions::new(dir.path(), Daemon::ResourceManager);
    options.env = BTreeMap::from([("HOME".to_owned(), "/home/user".to_owned())]);
    options.properties = yarn_conf::system_properties("root", "/root", "/tmp", "/");
    Configuration::load(&options).unwrap()
}

#[test]
fn values_are_those_hadoop_gave() {
    let conf = a_and_b();
    let expected = [
        ("inc.key", Some("fromInclude")),
        ("fb.key", Some("fb")),
        ("fin", Some("1")),
        ("dup", Some("3")),
        ("trimmed.name", Some("\n  spaced\n")),
        ("env", Some("/home/user/x dflt d2 ${env.NOPE3}")),
        ("ref", Some("3-root-${nothere}")),
        ("noval", None),
        ("emptyval", None),
        ("attr.style", Some("attrv")),
        ("cdata", Some("a<b")),
        ("nested", Some("aqc")),
        ("tag.prop", Some("1")),
        ("inside.unknown", Some("v")),
        ("nested.conf", Some("nc")),
        ("hex", Some("0x1F")),
    ];
    for (key, value) in expected {
        assert_eq!(conf.get(key).unwrap().as_deref(), value, "{key}");
    }
    let looped = conf.get("loop1").unwrap_err();
    assert_eq!(
        looped.text,
        "Variable substitution depth too large: 20 ${loop2}"
    );
}

#[test]
fn typed_reads_are_those_hadoop_gave() {
    let conf = a_and_b();
    assert_eq!(
        conf.duration_ms("dur1", TimeUnit::Milliseconds, 1),
        Ok(10_000)
    );
    assert_eq!(conf.duration_ms("dur2", TimeUnit::Milliseconds, 1), Ok(10));
    assert!(conf.duration_ms("dur3", TimeUnit::Milliseconds, 1).is_err());
    assert!(conf.i32("dur1", 1).is_err());
    assert!(conf.i64("dur1", 1).is_err());
    assert_eq!(
        conf.long_bytes("size", 1).unwrap_err().text,
        "Invalid size prefix 'b' in '512mb'. Allowed prefixes are k, m, g, t, p, e(case insensitive)"
    );
    assert_eq!(conf.long_bytes("size2", 1), Ok(2_147_483_648));
    assert_eq!(conf.storage_size("size", 1.0), Ok(512.0 * 1024.0 * 1024.0));
    assert!(conf.i32("size", 1).is_err());
    assert_eq!(conf.i32("int", 1), Ok(42));
    assert_eq!(conf.i32("hex", 1), Ok(31));
    assert!(conf.i32("badint", 1).is_err());
    assert_eq!(conf.bool("badbool", true), Ok(true));
    assert_eq!(conf.bool("bool", false), Ok(true));
    assert_eq!(conf.i32("emptyval", 7), Ok(7));
    assert_eq!(conf.bool("emptyval", true), Ok(true));
    assert_eq!(conf.strings("list").unwrap(), [" a ", " b", "c "]);
    assert_eq!(conf.trimmed_strings("list").unwrap(), ["a", "b", "", "c"]);
}

#[test]
fn a_final_value_stays_and_the_attempt_is_reported() {
    let conf = a_and_b();
    assert_eq!(conf.raw("fin"), Some("1"));
    assert!(conf.is_final("fin"));
    let warning = conf
        .warnings()
        .iter()
        .find(|w| w.key == "fin")
        .expect("a warning");
    assert!(
        warning.text.contains("override final parameter"),
        "{warning}"
    );
    let at = warning.origin.as_ref().unwrap();
    assert!(at.file.ends_with("capacity-scheduler.xml"), "{at}");
}

/// `k` of each probe file: its value, or part of the error.
#[test]
fn odd_files_are_read_or_refused_as_by_hadoop() {
    let read: &[(&str, &str, Option<&str>)] = &[
        ("inc-nested.xml", "k", Some("1")),
        ("dtd.xml", "k", Some("ent")),
        ("utf16.xml", "k", Some("é")),
        ("latin1.xml", "k", Some("é")),
        ("xml11.xml", "k", Some("1")),
        ("pi.xml", "k", Some("1")),
        ("text-between.xml", "k", Some("1")),
        ("comment-in-value.xml", "k", Some("ab")),
        ("two-values.xml", "k", Some("2")),
        ("value-first.xml", "k", Some("1")),
        ("Upper.xml", "k", None),
        ("final-true-space.xml", "k", Some("2")),
        ("final-TRUE.xml", "k", Some("2")),
        ("trailing.xml", "k", Some("1")),
        ("env.xml", "k", Some("/home/user")),
        ("env.xml", "m", Some("y")),
        ("emptyname.xml", "k", Some("1")),
        ("bom.xml", "bom", Some("ok")),
        ("badroot.xml", "x", Some("badroot")),
        ("c1.xml", "k", Some("one")),
        ("c1.xml", "s", Some(" ")),
        ("c1.xml", "f", Some("1")),
        ("c2.xml", "k", None),
        ("c2.xml", "k2", None),
        ("c2.xml", "only", None),
    ];
    for (file, key, value) in read {
        let conf = load(file).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(conf.get(key).unwrap().as_deref(), *value, "{file} {key}");
    }
    let refused = [
        ("lead.xml", 2, "Illegal processing instruction target"),
        ("unclosed.xml", 2, "Unexpected EOF"),
        ("empty.xml", 1, "Unexpected EOF in prolog"),
        (
            "inc-missing.xml",
            1,
            "Fetch fail on include for 'nope.xml' with no fallback while loading '",
        ),
        ("inc-self.xml", 1, "a file cannot include itself"),
        ("xxe.xml", 1, "external entities are refused"),
        ("undef-entity.xml", 1, "Undeclared general entity \"nbsp\""),
        ("latin1-undeclared.xml", 1, "not UTF-8"),
        ("trailing-junk.xml", 1, "outside the root"),
        ("ampersand.xml", 1, ""),
        ("ctrl.xml", 1, "does not allow"),
    ];
    for (file, line, text) in refused {
        let error = load(file).map(|_| ()).expect_err(file);
        assert!(error.contains(&format!("{file}:{line}: ")), "{error}");
        assert!(error.contains(text), "{error}");
    }
    assert!(load("nofile.xml").is_err_and(|e| e.contains("nofile.xml")));
}
