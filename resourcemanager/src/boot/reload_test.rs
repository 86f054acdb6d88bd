//! Files that are read again, as an administrator left them.
//! May touch: temporary files.
//! Must not: start a daemon.

use yarn_conf::Daemon;

use super::*;

fn written(files: &[(&str, &str)]) -> (tempfile::TempDir, FromFiles) {
    let dir = tempfile::tempdir().unwrap();
    for (name, properties) in files {
        let properties = properties.lines().filter_map(|line| line.split_once('='));
        let property = |(key, value): (&str, &str)| {
            format!("<property><name>{key}</name><value>{value}</value></property>")
        };
        let text: Vec<String> = properties.map(property).collect();
        let text = text.concat();
        let text = format!("<configuration>{text}</configuration>");
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let options = LoadOptions::new(dir.path(), Daemon::ResourceManager);
    (dir, FromFiles(options))
}

#[test]
fn dynamic_resources_name_nodes_with_memory_and_vcores() {
    let file = "yarn.resource.dynamic.nodes= a:1, b:2 \nyarn.resource.dynamic.a:1.memory=4096\n\
                yarn.resource.dynamic.a:1.vcores=3\nyarn.resource.dynamic.a:1.overcommittimeout=500";
    let (_dir, files) = written(&[("dynamic-resources.xml", file)]);
    let option = |node: &str, memory_mb, vcores, overcommit_timeout_ms| NodeOption {
        node: node.parse().unwrap(),
        total: Resource::new(memory_mb, vcores),
        overcommit_timeout_ms,
    };
    // Hadoop's defaults stand where the file is silent.
    let expected = [option("a:1", 4096, 3, 500), option("b:2", 8192, 8, -1)];
    assert_eq!(files.dynamic_resources().unwrap(), expected);
    let (_dir, files) = written(&[]);
    assert_eq!(files.dynamic_resources().unwrap(), []);
}

#[test]
fn a_bad_value_is_named() {
    for (file, words) in [
        ("yarn.resource.dynamic.nodes=nowhere", "want host:port"),
        (
            "yarn.resource.dynamic.nodes=a:1\nyarn.resource.dynamic.a:1.memory=much",
            "yarn.resource.dynamic.a:1.memory",
        ),
    ] {
        let (_dir, files) = written(&[("dynamic-resources.xml", file)]);
        let error = files.dynamic_resources().unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn values_are_those_of_the_files_now() {
    let timeout = "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs";
    let (dir, files) = written(&[]);
    assert_eq!(files.graceful_timeout_s(), Ok(3600));
    assert_eq!(files.max_priority(), Ok(0));
    let text = format!(
        "<configuration><property><name>{timeout}</name><value>-1</value></property>\
         <property><name>yarn.cluster.max-application-priority</name><value>9</value></property>\
         </configuration>"
    );
    std::fs::write(dir.path().join("yarn-site.xml"), text).unwrap();
    assert_eq!(files.graceful_timeout_s(), Ok(-1));
    assert_eq!(files.max_priority(), Ok(9));
    std::fs::write(dir.path().join("yarn-site.xml"), "<configuration>").unwrap();
    assert!(files.readable().is_err());
}
