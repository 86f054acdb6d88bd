//! Starts a ResourceManager, ours or the stock one, in a directory of its own.
//! May touch: that directory, one child process, loopback ports.
//! Must not: speak its protocols.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::target::Done;

/// Longest wait until the ports are open.
const START_S: u64 = 120;
const POLL: Duration = Duration::from_millis(50);
/// How much of a log is shown.
const LOG_BYTES: usize = 16 * 1024;
const CAPACITY_PREFIX: &str = "yarn.scheduler.capacity.";

/// A running ResourceManager; ends with this value.
pub(super) struct Rm {
    child: Child,
    dir: TempDir,
    ends: BTreeMap<String, SocketAddr>,
    own: BTreeMap<String, String>,
    pub stock: bool,
}

impl Rm {
    /// Starts one with `conf`; `racks` are the racks of hosts.
    pub fn start(
        stock: bool,
        conf: &BTreeMap<String, String>,
        racks: &[(String, String)],
    ) -> Done<Self> {
        let dir = tempfile::Builder::new()
            .prefix("sched-cases-")
            .tempdir()
            .map_err(shown)?;
        let ports = if stock { free_ports(5)? } else { vec![0; 5] };
        let own = own_settings(dir.path(), stock, &ports, racks)?;
        write(dir.path(), conf, &own)?;
        let log = fs::File::create(dir.path().join("log")).map_err(shown)?;
        let mut command = if stock {
            stock_command(dir.path())?
        } else {
            our_command(dir.path())?
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(shown)?)
            .stderr(log)
            .spawn()
            .map_err(|e| format!("start {command:?}: {e}"))?;
        let mut rm = Self {
            child,
            dir,
            ends: BTreeMap::new(),
            own,
            stock,
        };
        rm.wait(&ports)?;
        Ok(rm)
    }

    fn wait(&mut self, ports: &[u16]) -> Done {
        let deadline = Instant::now() + Duration::from_secs(START_S);
        let names = [
            "rm.client",
            "rm.scheduler",
            "rm.tracker",
            "rm.admin",
            "rm.http",
        ];
        loop {
            if let Some(status) = self.child.try_wait().map_err(shown)? {
                return Err(format!("ended with {status}: {}", self.log()));
            }
            if self.stock {
                let all = names.iter().zip(ports).map(|(name, port)| {
                    (
                        (*name).to_owned(),
                        SocketAddr::from(([127, 0, 0, 1], *port)),
                    )
                });
                self.ends = all.collect();
                if self.ends.values().all(|at| TcpStream::connect(at).is_ok()) {
                    return Ok(());
                }
            } else if let Ok(text) = fs::read_to_string(self.dir.path().join("endpoints")) {
                let pairs = text.lines().filter_map(|line| line.split_once('='));
                self.ends = pairs
                    .filter_map(|(name, at)| Some((name.to_owned(), at.parse().ok()?)))
                    .collect();
                if names.iter().all(|name| self.ends.contains_key(*name)) {
                    return Ok(());
                }
            }
            if Instant::now() > deadline {
                return Err(format!("not up after {START_S} s: {}", self.log()));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Replaces the configuration files.
    pub fn rewrite(&self, conf: &BTreeMap<String, String>) -> Done {
        write(self.dir.path(), conf, &self.own)
    }

    /// Address of one of its ports.
    pub fn at(&self, name: &str) -> Done<SocketAddr> {
        let found = self.ends.get(name).copied();
        found.ok_or_else(|| format!("the ResourceManager named no port {name}"))
    }

    /// The end of its log.
    fn log(&self) -> String {
        let text = fs::read(self.dir.path().join("log")).unwrap_or_default();
        let from = text.len().saturating_sub(LOG_BYTES);
        String::from_utf8_lossy(&text[from..]).into_owned()
    }
}

impl Drop for Rm {
    fn drop(&mut self) {
        // it may have ended already, which is as good
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Ports that nobody listens on now; all are held until all are known.
fn free_ports(count: usize) -> Done<Vec<u16>> {
    let held: Result<Vec<_>, _> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect();
    let held = held.map_err(shown)?;
    held.iter()
        .map(|one| one.local_addr().map(|at| at.port()).map_err(shown))
        .collect()
}

fn own_settings(
    dir: &Path,
    stock: bool,
    ports: &[u16],
    racks: &[(String, String)],
) -> Done<BTreeMap<String, String>> {
    let table = dir.join("topology");
    let mut text = String::new();
    for (host, rack) in racks {
        let _ = writeln!(text, "{host} {rack}");
    }
    fs::write(&table, text).map_err(shown)?;
    let mut own = BTreeMap::new();
    let mut set = |key: &str, value: String| {
        own.insert(key.to_owned(), value);
    };
    let names = [
        "address",
        "scheduler.address",
        "resource-tracker.address",
        "admin.address",
        "webapp.address",
    ];
    for (name, port) in names.iter().zip(ports) {
        set(
            &format!("yarn.resourcemanager.{name}"),
            format!("127.0.0.1:{port}"),
        );
    }
    for key in [
        "yarn.nm.liveness-monitor.expiry-interval-ms",
        "yarn.am.liveness-monitor.expiry-interval-ms",
        "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
    ] {
        set(key, "3600000".to_owned());
    }
    set("yarn.resourcemanager.hostname", "127.0.0.1".to_owned());
    set("yarn.resourcemanager.am.max-attempts", "1".to_owned());
    set("hadoop.tmp.dir", dir.join("tmp").display().to_string());
    set(
        "net.topology.node.switch.mapping.impl",
        "org.apache.hadoop.net.TableMapping".to_owned(),
    );
    set("net.topology.table.file.name", table.display().to_string());
    set(
        "yarn.node-labels.fs-store.root-dir",
        format!("file://{}", dir.join("labels").display()),
    );
    set(
        "yarn.scheduler.capacity.schedule-asynchronously.enable",
        "false".to_owned(),
    );
    if !stock {
        set(
            "yarn.scheduler.capacity.heddle.pacing",
            "heartbeat".to_owned(),
        );
    }
    Ok(own)
}

/// Scheduler keys into their file, everything else into yarn-site.xml; the case's come last.
fn write(dir: &Path, conf: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> Done {
    let mut all = own.clone();
    all.extend(conf.iter().map(|(k, v)| (k.clone(), v.clone())));
    let of = |capacity: bool| {
        all.iter()
            .filter(move |(key, _)| key.starts_with(CAPACITY_PREFIX) == capacity)
    };
    write_xml(&dir.join("yarn-site.xml"), of(false))?;
    write_xml(&dir.join("capacity-scheduler.xml"), of(true))?;
    let core = BTreeMap::from([("fs.defaultFS".to_owned(), "file:///".to_owned())]);
    write_xml(&dir.join("core-site.xml"), core.iter())?;
    let log4j = "log4j.rootLogger=INFO,err\n\
                 log4j.appender.err=org.apache.log4j.ConsoleAppender\n\
                 log4j.appender.err.target=System.err\n\
                 log4j.appender.err.layout=org.apache.log4j.PatternLayout\n\
                 log4j.appender.err.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n\n";
    fs::write(dir.join("log4j.properties"), log4j).map_err(shown)
}

fn write_xml<'a>(path: &Path, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> Done {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<configuration>\n");
    for (key, value) in pairs {
        let _ = writeln!(
            text,
            "<property><name>{}</name><value>{}</value></property>",
            escaped(key),
            escaped(value)
        );
    }
    text.push_str("</configuration>\n");
    fs::write(path, text).map_err(shown)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn our_command(dir: &Path) -> Done<Command> {
    let mut command = Command::new(our_binary()?);
    command
        .arg("--config")
        .arg(dir)
        .arg("--endpoints-file")
        .arg(dir.join("endpoints"));
    Ok(command)
}

/// `$HEDDLE_BIN`, or beside this program.
fn our_binary() -> Done<PathBuf> {
    let folder = if let Some(folder) = std::env::var_os("HEDDLE_BIN") {
        PathBuf::from(folder)
    } else {
        let own = std::env::current_exe().map_err(shown)?;
        own.parent().unwrap_or(Path::new(".")).to_owned()
    };
    let binary = folder.join("resourcemanager");
    if binary.is_file() {
        Ok(binary)
    } else {
        Err(format!(
            "{} is not there; build it with cargo build, or set HEDDLE_BIN",
            binary.display()
        ))
    }
}

/// With the class path that `integration/caches.py` keeps.
fn stock_command(dir: &Path) -> Done<Command> {
    let integration = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integration");
    let script = "import caches; print(caches.java_home()); print(caches.stock_jars())";
    let found = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .current_dir(integration)
        .output()
        .map_err(|e| format!("start python3: {e}"))?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let [java, jars] = text.lines().collect::<Vec<_>>()[..] else {
        return Err(format!(
            "integration/caches.py has no stock jars: {}",
            String::from_utf8_lossy(&found.stderr)
        ));
    };
    let mut command = Command::new(format!("{java}/bin/java"));
    command
        .args(["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .arg("--add-opens=java.base/java.lang=ALL-UNNAMED")
        .arg("-cp")
        .arg(format!("{}:{jars}/*", dir.display()))
        .arg("org.apache.hadoop.yarn.server.resourcemanager.ResourceManager")
        .env("HADOOP_CONF_DIR", dir)
        .current_dir("/");
    Ok(command)
}
