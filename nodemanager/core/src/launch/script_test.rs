//! Snapshot of a launch script.
//! May touch: nothing outside memory.
//! Must not: run it.

use super::*;

#[test]
fn the_script_reads_as_yarns() {
    let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
    let env = Environment {
        whitelisted: vec![pair("JAVA_HOME", "/usr/lib/jvm/x")],
        nm: vec![
            pair("CONTAINER_ID", "container_1_0001_01_000002"),
            pair("JVM_PID", "$$"),
        ],
        rest: vec![pair("CLASSPATH", "$PWD:$PWD/__spark_libs__/*")],
    };
    let links = [Link {
        target: "/c/10/a.zip".into(),
        name: "dir/a\n.zip".into(),
    }];
    let commands: Vec<String> = [
        "{{JAVA_HOME}}/bin/java",
        "-Dx='\\$y'",
        "1>",
        "<LOG_DIR>/stdout",
    ]
    .map(str::to_owned)
    .to_vec();
    let script = Script {
        env: &env,
        links: &links,
        commands: &commands,
        log_dir: "/l/c",
        debug_info: true,
    };
    let expected = r#"#!/bin/bash

set -o pipefail -e
export PRELAUNCH_OUT="/l/c/prelaunch.out"
exec >"${PRELAUNCH_OUT}"
export PRELAUNCH_ERR="/l/c/prelaunch.err"
exec 2>"${PRELAUNCH_ERR}"
echo "Setting up env variables"
export JAVA_HOME=${JAVA_HOME:-"/usr/lib/jvm/x"}
export CONTAINER_ID="container_1_0001_01_000002"
export JVM_PID="$$"
export CLASSPATH="$PWD:$PWD/__spark_libs__/*"
echo "Setting up job resources"
# made by the NodeManager: "dir/a\n.zip" -> "/c/10/a.zip"
echo "Copying debugging information"
# launch_container.sh and directory.info: written by the NodeManager
echo "Launching container"
exec /bin/bash -c "$JAVA_HOME/bin/java -Dx='\$y' 1> /l/c/stdout"
"#;
    assert_eq!(script.text(), expected);
}
