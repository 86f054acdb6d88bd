//! Tests of what the RM reads of node labels.
//! May touch: configurations made here.
//! Must not: read files.

use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Option<NodeLabelSettings>, String> {
    let enabled = [(ENABLED, "true")];
    let conf = Configuration::of(enabled.iter().chain(pairs).copied());
    node_labels(&conf).map_err(|problem| problem.to_string())
}

#[test]
fn the_store_is_a_directory_of_this_machine() {
    for dir in ["file:///a/b", "file:/a/b", "file://localhost/a/b", "/a/b"] {
        let settings = read(&[(ROOT_DIR, dir)]).unwrap().unwrap();
        assert_eq!(settings.dir, PathBuf::from("/a/b"), "{dir}");
        assert!(!settings.distributed);
    }
    for (dir, text) in [
        ("hdfs://nn:8020/a", "is not built"),
        ("s3a://bucket/a", "is not built"),
        ("a/b", "is not absolute"),
    ] {
        let refused = read(&[(ROOT_DIR, dir)]).unwrap_err();
        assert!(
            refused.contains(ROOT_DIR) && refused.contains(text),
            "{refused}"
        );
    }
    let refused = read(&[(ROOT_DIR, "/a"), ("fs.defaultFS", "hdfs://nn")]).unwrap_err();
    assert!(refused.contains("is not built"), "{refused}");
}

#[test]
fn no_directory_is_hadoops_own_with_a_remark() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = crate::LoadOptions::new(dir.path(), crate::Daemon::ResourceManager);
    options.properties = crate::load::system_properties("yarn", "/", "/tmp", "/");
    options.overrides = vec![(ENABLED.to_owned(), "true".to_owned())];
    let conf = Configuration::load(&options).unwrap();
    let dir = "/tmp/hadoop-yarn-yarn/node-labels";
    let settings = node_labels(&conf).unwrap().unwrap();
    assert_eq!(settings.dir, PathBuf::from(dir));
    let said = remark(&conf).unwrap().to_string();
    assert!(said.contains(ROOT_DIR) && said.contains(dir), "{said}");
    let set = [(ENABLED, "true"), (ROOT_DIR, "/a")];
    assert!(remark(&Configuration::of(set)).is_none());
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let dir = (ROOT_DIR, "/a");
    assert!(
        read(&[dir, (KIND, "distributed")])
            .unwrap()
            .unwrap()
            .distributed
    );
    for (key, value) in [
        (KIND, "delegated-centralized"),
        (KIND, "Distributed"),
        (STORE, "com.example.Store"),
        ("yarn.node-labels.exclusive-enforced-partitions", "x"),
        (
            "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation",
            "true",
        ),
    ] {
        let refused = read(&[dir, (key, value)]).unwrap_err();
        assert!(refused.contains(key), "{refused}");
        // Nothing of it matters while there are no labels.
        assert_eq!(read(&[(ENABLED, "false"), (key, value)]), Ok(None));
    }
    let good = "org.apache.hadoop.yarn.nodelabels.NonAppendableFSNodeLabelStore";
    assert!(read(&[dir, (STORE, good)]).is_ok());
}
