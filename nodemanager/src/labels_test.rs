//! What the providers find.
//! May touch: scripts in temporary directories.
//! Must not: need a ResourceManager.

use super::*;

fn provider(source: LabelSource, configured: &str) -> Provider {
    let configured = configured.to_owned();
    let settings = LabelSettings {
        source,
        interval_ms: None,
    };
    let reread = move || Ok(Configuration::of([(CONFIGURED, configured.as_str())]));
    Provider::new(settings, Arc::new(reread)).unwrap()
}

async fn found(provider: &Provider) -> Option<Option<String>> {
    match provider.look().await {
        Some(Event::LabelFound { label }) => Some(label.map(|l| l.to_string())),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_configuration_says_one_label_or_none() {
    for (configured, label) in [
        (" x ", Some(Some("x".to_owned()))),
        ("", Some(None)),
        ("-x", None),
    ] {
        let provider = provider(LabelSource::Config, configured);
        assert_eq!(found(&provider).await, label, "{configured}");
    }
}

#[tokio::test]
async fn a_script_says_it_in_its_last_line_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("label.sh");
    for (body, label) in [
        (
            "echo NODE_PARTITION:a; echo noise; echo \"  NODE_PARTITION: $1\"",
            Some(Some("gpu".to_owned())),
        ),
        ("echo nothing", Some(None)),
        ("echo NODE_PARTITION:x; exit 3", None),
        ("echo NODE_PARTITION:x; exec sleep 100", None),
    ] {
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let source = LabelSource::Script {
            path: path.clone(),
            opts: vec!["gpu".to_owned()],
            timeout_ms: if body.contains("sleep") { 50 } else { 60_000 },
        };
        assert_eq!(found(&provider(source, "")).await, label, "{body}");
    }
}

#[test]
fn a_script_that_cannot_be_run_is_said_in_hadoops_words() {
    let settings = LabelSettings {
        source: LabelSource::Script {
            path: "/nowhere/label.sh".into(),
            opts: Vec::new(),
            timeout_ms: 1,
        },
        interval_ms: None,
    };
    let nothing = || Err(String::new());
    let text = Provider::new(settings, Arc::new(nothing)).err().unwrap();
    let begins =
        "Node descriptors provider script \"/nowhere/label.sh\" is not configured properly.";
    assert!(text.starts_with(begins), "{text}");
}
