//! Tests of the keys of the node's label.
//! May touch: configurations made here.
//! Must not: run a script.

use super::*;

fn pairs(more: &[(&str, &str)]) -> Configuration {
    let more = more.iter().map(|(name, value)| (key(name), *value));
    let more: Vec<(String, &str)> = more.collect();
    Configuration::of(more.iter().map(|(name, value)| (name.as_str(), *value)))
}

#[test]
fn a_provider_has_hadoops_defaults() {
    let none = pairs(&[("provider", " ")]);
    assert_eq!((read(&none), resync_ms(&none)), (Ok(None), Ok(None)));
    let config = pairs(&[("provider", "Config")]);
    assert_eq!(
        read(&config),
        Ok(Some(LabelSettings {
            source: LabelSource::Config,
            interval_ms: Some(600_000),
        }))
    );
    assert_eq!(resync_ms(&config), Ok(Some(120_000)));
    let script = pairs(&[
        ("provider", "script"),
        ("provider.script.path", "/s"),
        ("provider.script.opts", "a,b"),
        ("provider.fetch-interval-ms", "-1"),
    ]);
    assert_eq!(
        read(&script),
        Ok(Some(LabelSettings {
            source: LabelSource::Script {
                path: "/s".into(),
                opts: vec!["a".to_owned(), "b".to_owned()],
                timeout_ms: 1_200_000,
            },
            interval_ms: None,
        }))
    );
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    for (more, named) in [
        (vec![("provider", "com.example.P")], "provider"),
        (vec![("provider", "script")], "provider.script.path"),
        (
            vec![("provider", "config"), ("provider.fetch-interval-ms", "0")],
            "provider.fetch-interval-ms",
        ),
    ] {
        assert_eq!(read(&pairs(&more)).unwrap_err().key, key(named));
    }
}
