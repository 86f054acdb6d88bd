//! Which files make a daemon's configuration, and in which order (`YarnConfiguration`).
//! May touch: the files of the configuration directory, read once.
//! Must not: read the process environment; the caller passes it in.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    defaults::{CORE, YARN},
    error::LoadError,
    table::{Configuration, Outside, Table},
    xml::Loader,
};

/// Whose configuration is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Daemon {
    /// core-site, yarn-site, resource-types, capacity-scheduler.
    ResourceManager,
    /// core-site, yarn-site, resource-types, node-resources.
    NodeManager,
}

/// Which files to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Files {
    /// Those of a daemon; one that is missing counts as empty.
    Of(Daemon),
    /// One file over Hadoop's defaults; it must be there.
    Only(PathBuf),
}

/// What [`Configuration::load`] needs to know.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The configuration directory, see [`resolve_dir`].
    pub dir: PathBuf,
    /// The files.
    pub files: Files,
    /// Name of one of them, e.g. `yarn-site.xml`, and the file to read in its place, which must be there.
    pub instead: Option<(String, PathBuf)>,
    /// `-D key=value` in the order of the command line.
    pub overrides: Vec<(String, String)>,
    /// The environment, for `${env.NAME}`.
    pub env: BTreeMap<String, String>,
    /// What Java calls system properties, see [`system_properties`].
    pub properties: BTreeMap<String, String>,
}

impl LoadOptions {
    /// The files of `daemon` in `dir`, nothing else set.
    pub fn new(dir: impl Into<PathBuf>, daemon: Daemon) -> Self {
        Self {
            dir: dir.into(),
            files: Files::Of(daemon),
            instead: None,
            overrides: Vec::new(),
            env: BTreeMap::new(),
            properties: BTreeMap::new(),
        }
    }
}

/// The system properties that configuration files use: `user.name`, `user.home`, `java.io.tmpdir`, `user.dir`.
pub fn system_properties(user: &str, home: &str, tmp: &str, dir: &str) -> BTreeMap<String, String> {
    [
        ("user.name", user),
        ("user.home", home),
        ("java.io.tmpdir", tmp),
        ("user.dir", dir),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

/// The configuration directory: `--config`, else `HADOOP_CONF_DIR`, `YARN_CONF_DIR`, `HADOOP_HOME/etc/hadoop`.
///
/// # Errors
/// None of them is given.
pub fn resolve_dir(
    flag: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<PathBuf, LoadError> {
    let set = |name: &str| env.get(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    flag.map(Path::to_owned)
        .or_else(|| set("HADOOP_CONF_DIR"))
        .or_else(|| set("YARN_CONF_DIR"))
        .or_else(|| set("HADOOP_HOME").map(|home| home.join("etc/hadoop")))
        .ok_or_else(|| LoadError::Directory {
            path: PathBuf::new(),
            reason: "none is named; give --config DIR or set HADOOP_CONF_DIR".to_owned(),
        })
}

impl Configuration {
    /// Reads the files of `options`, later ones over earlier ones, and puts `-D` values on top.
    ///
    /// # Errors
    /// The directory is not there, a file cannot be read or is not what Hadoop's reader takes.
    pub fn load(options: &LoadOptions) -> Result<Self, LoadError> {
        let (early, late): (Vec<PathBuf>, Vec<PathBuf>) = match &options.files {
            Files::Of(daemon) => {
                check_directory(&options.dir)?;
                let last = match daemon {
                    Daemon::ResourceManager => "capacity-scheduler.xml",
                    Daemon::NodeManager => "node-resources.xml",
                };
                let path = |name: &&str| match &options.instead {
                    Some((replaced, file)) if replaced == name => file.clone(),
                    _ => options.dir.join(name),
                };
                let in_dir = |names: &[&str]| names.iter().map(path).collect();
                (
                    in_dir(&["core-site.xml"]),
                    in_dir(&["yarn-site.xml", "resource-types.xml", last]),
                )
            }
            Files::Only(file) => (Vec::new(), vec![file.clone()]),
        };
        let must_exist = |path: &Path| match &options.files {
            Files::Of(_) => options.instead.as_ref().is_some_and(|(_, f)| f == path),
            Files::Only(_) => true,
        };
        let mut loader = Loader::new(Some(options.dir.clone()));
        let mut outside = Outside {
            env: options.env.clone(),
            properties: options.properties.clone(),
        };
        if let Some(dir) = log_dir(&outside.env) {
            for name in LOG_DIR_PROPERTIES {
                let property = outside.properties.entry(name.to_owned());
                property.or_insert_with(|| dir.clone());
            }
        }
        let mut table = Table {
            outside,
            dir: Some(options.dir.clone()),
            instead: options.instead.as_ref().map(|(_, file)| file.clone()),
            ..Table::default()
        };
        let mut layer = |table: &mut Table, path: &Path| -> Result<(), LoadError> {
            match loader.file(path) {
                Ok(properties) => table.add_properties(properties),
                Err(LoadError::Io { source, .. })
                    if !must_exist(path) && source.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            Ok(())
        };
        table.add_defaults(&CORE);
        for name in LOG_DIR_PROPERTIES {
            table.add_default(name, "${hadoop.tmp.dir}/logs");
        }
        for path in &early {
            layer(&mut table, path)?;
        }
        table.add_defaults(&YARN);
        for path in &late {
            layer(&mut table, path)?;
        }
        if options.files == Files::Of(Daemon::ResourceManager) {
            // How types are called in the cluster is seen there; Hadoop's ResourceManager does not
            // open that file, so a bad one does not stop this one.
            let nodes = loader.file(&options.dir.join("node-resources.xml"));
            table.offered = nodes.into_iter().flatten().map(|p| p.name).collect();
        }
        for (key, value) in &options.overrides {
            table.add_override(key, value);
        }
        Ok(Self(Arc::new(table)))
    }
}

/// System properties that Hadoop's scripts set; the default of `yarn.nodemanager.log-dirs` names one.
const LOG_DIR_PROPERTIES: [&str; 2] = ["yarn.log.dir", "hadoop.log.dir"];

/// What those scripts set them to; without any of these variables `${hadoop.tmp.dir}/logs` is the default.
fn log_dir(env: &BTreeMap<String, String>) -> Option<String> {
    let env = |name: &str| env.get(name).filter(|v| !v.is_empty()).cloned();
    env("HADOOP_LOG_DIR")
        .or_else(|| env("YARN_LOG_DIR"))
        .or_else(|| Some(format!("{}/logs", env("HADOOP_HOME")?)))
}

fn check_directory(dir: &Path) -> Result<(), LoadError> {
    let reason = match std::fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(LoadError::Directory {
        path: dir.to_owned(),
        reason,
    })
}

#[cfg(test)]
#[path = "load_test.rs"]
mod tests;
