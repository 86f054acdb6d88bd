//! The text of launch_container.sh.
//! May touch: the values it is given.
//! Must not: write files.

use std::fmt::Write;

use super::env::Environment;
use super::{PRELAUNCH_ERR, PRELAUNCH_OUT, expand};

/// A localised resource and the name under which the container sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Absolute path in a cache.
    pub target: String,
    /// Key of the resource in the launch context; it may contain slashes.
    pub name: String,
}

/// All that goes into one launch script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script<'a> {
    /// Variables, as [`super::env::environment`] gives them.
    pub env: &'a Environment,
    /// Links that the NodeManager makes before the script runs.
    pub links: &'a [Link],
    /// Command tokens of the launch context, not expanded yet.
    pub commands: &'a [String],
    /// The container's log directory.
    pub log_dir: &'a str,
    /// `yarn.nodemanager.log-container-debug-info.enabled`.
    pub debug_info: bool,
}

impl Script<'_> {
    /// The text. Values are never escaped: clients have quoted them for exactly these quotes.
    ///
    /// Where stock's script makes links and copies itself, this one only says so in comments:
    /// the NodeManager has done it, and bash is left with one exec.
    pub fn text(&self) -> String {
        let mut out = String::from("#!/bin/bash\n\nset -o pipefail -e\n");
        for (name, file, redirect) in [
            ("PRELAUNCH_OUT", PRELAUNCH_OUT, ""),
            ("PRELAUNCH_ERR", PRELAUNCH_ERR, "2"),
        ] {
            let _ = writeln!(out, "export {name}=\"{}/{file}\"", self.log_dir);
            let _ = writeln!(out, "exec {redirect}>\"${{{name}}}\"");
        }
        out.push_str("echo \"Setting up env variables\"\n");
        for (name, value) in &self.env.whitelisted {
            let _ = writeln!(out, "export {name}=${{{name}:-\"{value}\"}}");
        }
        for (name, value) in self.env.nm.iter().chain(&self.env.rest) {
            let _ = writeln!(out, "export {name}=\"{value}\"");
        }
        out.push_str("echo \"Setting up job resources\"\n");
        for link in self.links {
            let line = format!(
                "# made by the NodeManager: {:?} -> {:?}\n",
                link.name, link.target
            );
            out.push_str(&line);
        }
        if self.debug_info {
            out.push_str("echo \"Copying debugging information\"\n");
            out.push_str("# launch_container.sh and directory.info: written by the NodeManager\n");
        }
        out.push_str("echo \"Launching container\"\n");
        let commands: Vec<String> = self
            .commands
            .iter()
            .map(|token| expand(token, self.log_dir))
            .collect();
        let _ = writeln!(out, "exec /bin/bash -c \"{}\"", commands.join(" "));
        out
    }
}

#[cfg(test)]
#[path = "script_test.rs"]
mod tests;
