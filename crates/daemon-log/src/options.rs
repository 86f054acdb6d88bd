//! Options of the command line that both daemons have.
//! May touch: the text of the command line.
//! Must not: read a file.

use std::path::PathBuf;

use yarn_conf::report;

use crate::{Rotate, start};

/// To be flattened into a daemon's own options.
#[derive(clap::Args, Clone, Debug)]
pub struct CommonOptions {
    /// Directory of core-site.xml, yarn-site.xml and the others; else HADOOP_CONF_DIR,
    /// YARN_CONF_DIR or HADOOP_HOME/etc/hadoop.
    #[arg(long, value_name = "DIR")]
    pub config: Option<PathBuf>,
    /// Sets a key over all files; may be repeated.
    #[arg(short = 'D', value_name = "KEY=VALUE", value_parser = assignment)]
    pub define: Vec<(String, String)>,
    /// Reads the configuration as at start, prints every finding with file and line, and ends: 0 if
    /// it would start, else 1.
    #[arg(long)]
    pub check: bool,
    /// With --check: prints first the effective value of every key that is set, and where it is set.
    #[arg(long, requires = "check")]
    pub print: bool,
    /// With --check: reads FILE in place of the directory's KIND.xml.
    #[arg(long, requires = "check", value_name = "KIND=FILE", value_parser = report::replacement)]
    pub file: Option<(String, PathBuf)>,
    /// Where to log; standard error when not given.
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// error, warn, info, debug, trace, or target=level with commas between.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
    /// When the log file is put aside.
    #[arg(long, value_enum, default_value = "size")]
    pub log_rotate: Rotate,
    /// File for the addresses of the open ports, written once they are open and, for a
    /// NodeManager, registered: NAME=HOST:PORT a line.
    #[arg(long, value_name = "FILE")]
    pub endpoints_file: Option<PathBuf>,
}

impl CommonOptions {
    /// Starts logging. To be called once.
    ///
    /// # Errors
    /// As [`start`].
    pub fn start_log(&self) -> Result<(), String> {
        start(self.log_file.as_deref(), &self.log_level, self.log_rotate)
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("want KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}
