//! Hostile configuration files: read, expanded and judged, or refused, without a panic.
//! May touch: tests/data as the corpus, a temporary directory.
//! Must not: read what a daemon would not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use yarn_conf::{Configuration, Daemon, Files, LoadOptions, gate, resource_types};

#[test]
fn xml() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("yarn-site.xml");
    let mut options = LoadOptions::new(dir.path(), Daemon::ResourceManager);
    options.files = Files::Only(file.clone());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fuzz_loop::fuzz(&corpus, |input| {
        std::fs::write(&file, input).unwrap();
        match Configuration::load(&options) {
            Ok(conf) => {
                for (key, origin) in conf.set_keys() {
                    assert!(!format!("{origin:?}").is_empty());
                    drop(conf.get(key));
                }
                drop(resource_types(&conf));
                drop(gate::check(Daemon::ResourceManager, &conf));
                drop(gate::check(Daemon::NodeManager, &conf));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    })
    .unwrap();
}
