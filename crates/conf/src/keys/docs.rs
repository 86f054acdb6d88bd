//! docs/config.md from the key tables and the rules of the gate.
//! May touch: text.
//! Must not: say anything about a key that its table does not.

use std::fmt::Write;

use super::{Key, Kind, Reader, all};
use crate::{
    defaults::{CORE, Defaults, YARN},
    gate::{refuse, rule::Rule, warn},
    load::Daemon,
};

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from crates/conf/src/keys and crates/conf/src/gate; UPDATE_EXPECT=1 cargo test -p yarn-conf writes it anew. -->

Heddle reads Hadoop's own files, as Hadoop 3.5 does: same names, same defaults, same rules for
`final`, `${…}`, XInclude, deprecated names, units and lists. `conf/` holds a set to start from.

- **Directory**: `--config DIR`, else `HADOOP_CONF_DIR`, `YARN_CONF_DIR`, `HADOOP_HOME/etc/hadoop`.
- **Files**, later ones over earlier ones: Hadoop's core-default, core-site.xml, Hadoop's
  yarn-default, yarn-site.xml, resource-types.xml, then capacity-scheduler.xml (ResourceManager) or
  node-resources.xml (NodeManager). A file that is not there counts as empty. A key that Hadoop's
  yarn-default gives a value has no effect in core-site.xml; that is said at start.
- **`${yarn.log.dir}`**, which the default of yarn.nodemanager.log-dirs names, is `HADOOP_LOG_DIR`, else
  `YARN_LOG_DIR`, `HADOOP_HOME/logs`, `${hadoop.tmp.dir}/logs`.
- **`-D key=value`** sets a key over all files, unless a file made it final.
- **Heddle's own keys** begin with `yarn.nodemanager.heddle.`, `yarn.resourcemanager.heddle.` or
  `yarn.scheduler.capacity.heddle.`; Hadoop's daemons pass over them.
- **Different from Hadoop**: external entities and external DTDs are refused, an include is a local
  file (looked for in the configuration directory, then beside the including file), and a file that
  includes itself is refused with its line. Files are read as UTF-8, UTF-16 with its mark,
  ISO-8859-1 or US-ASCII.
- **At start** a daemon refuses what it cannot do safely, warns once of features that are not built,
  and names once the keys that Hadoop knows and that change nothing here. Every message names file
  and line.

## Checking a configuration

`resourcemanager --check --config DIR` and `nodemanager --check --config DIR` read everything as a
start does and open nothing. Each finding is one line, and one without a mark is a refusal:

    FILE:LINE: [warning: |note: ]KEY=VALUE: REASON

| option | what it does |
|---|---|
| `--check` | prints the findings and ends |
| `--print` | with it: first a line of key, effective value and `FILE:LINE`, with tabs between, for each key that is set; secrets are redacted |
| `--file KIND=FILE` | with it: reads FILE in place of the directory's KIND.xml; KIND is core-site, yarn-site, resource-types, capacity-scheduler or node-resources |
| `-D KEY=VALUE` | counts as at start |

| exit code | means |
|---|---|
| 0 | it would start; there may be warnings and notes |
| 1 | it would not: a key is refused, or a file cannot be read |
| 2 | the command line is wrong |

`scripts/check-conf [--kind KIND] [--print] FILE…` asks both daemons, as far as they read that kind of
file, about single files over an otherwise valid configuration (one queue; memory and vcores, unless
the file brings types). The kind is that of `--kind`, else of the file's name, else of its folder's
name, else yarn-site. It exits 0 if every file is accepted, 1 if one is refused or cannot be checked,
2 where the command line is wrong.
";

/// The text of docs/config.md.
pub fn markdown() -> String {
    let mut out = String::from(INTRODUCTION);
    out.push_str("\n## Keys that are honoured\n");
    for (heading, keys) in all() {
        let _ = write!(
            out,
            "\n### {heading}\n\n| Key | Read by | Value | Default | Meaning |\n|---|---|---|---|---|\n"
        );
        for key in keys {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                key.name,
                reader(key.reader),
                kind(key.kind),
                default(key),
                key.doc
            );
        }
    }
    out.push_str(
        "\n## Refused at start\n\nThese weaken safety, or change what runs where, when they are not heeded; so the daemon does not start.\n\n| Key | Read by | Refused | What is said |\n|---|---|---|---|\n",
    );
    rules(&mut out, refuse::RULES);
    out.push_str(
        "| `hadoop.http.authentication.simple.anonymous.allowed` | both | `false` | authentication of HTTP clients is not built yet |\n\
         | `yarn.nodemanager.resource-plugins` | NM | anything but `yarn.io/gpu`; that while `yarn.resource-types` does not name it | discovery and isolation of other devices are not built |\n",
    );
    out.push_str(
        "\n## Warned of at start\n\n| Key | Read by | Warned of | What is said |\n|---|---|---|---|\n",
    );
    rules(&mut out, warn::RULES);
    out.push_str(
        "| `yarn.resource-types`, `yarn.nodemanager.resource-plugins` | both | `GPU`, `gpu` | taken for `yarn.io/gpu`, the standard spelling, unless node-resources.xml offers that literal type |\n",
    );
    out
}

fn rules(out: &mut String, rules: &[Rule]) {
    for rule in rules {
        let who = match rule.daemon {
            None => "both",
            Some(Daemon::ResourceManager) => "RM",
            Some(Daemon::NodeManager) => "NM",
        };
        let _ = writeln!(
            out,
            "| `{}` | {who} | {} | {} |",
            rule.key,
            rule.when.describe(),
            rule.text
        );
    }
}

fn reader(reader: Reader) -> &'static str {
    match reader {
        Reader::Rm => "RM",
        Reader::Nm => "NM",
        Reader::Both => "both",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Int => "integer",
        Kind::Long => "long integer",
        Kind::Duration => "duration, ms",
        Kind::Float => "number",
        Kind::Bool => "true or false",
        Kind::Address => "host:port",
        Kind::List => "list",
        Kind::Path => "path",
        Kind::Choice => "word",
    }
}

fn default(key: &Key) -> String {
    let found = [YARN, CORE]
        .iter()
        .flat_map(Defaults::iter)
        .find(|(name, _)| *name == key.name)
        .and_then(|(_, value)| value);
    found.map_or_else(|| "none".to_owned(), |value| format!("`{value}`"))
}
