//! The text of a container's launch script, its environment and its diagnostics.
//! May touch: the values it is given.
//! Must not: know files, processes or clocks.

mod calendar;
pub mod diagnostics;
pub mod env;
pub mod script;

pub use calendar::{iso8601_utc, stamp_utc};
pub use env::{ContainerFacts, Environment, NodeFacts};
pub use script::{Link, Script};

/// File name of the launch script (`ContainerLaunch.CONTAINER_SCRIPT`).
pub const SCRIPT_FILE: &str = "launch_container.sh";
/// File name of the credentials in the container's directory.
pub const TOKENS_FILE: &str = "container_tokens";
/// Standard output of the launch script itself.
pub const PRELAUNCH_OUT: &str = "prelaunch.out";
/// Standard error of the launch script itself.
pub const PRELAUNCH_ERR: &str = "prelaunch.err";
/// Listing of the container's directory, beside the script's copy in the log directory.
pub const DIRECTORY_INFO: &str = "directory.info";

/// Replaces `<LOG_DIR>`, `<CPS>` and the marks of `{{NAME}}` as `ContainerLaunch` does.
pub fn expand(text: &str, log_dir: &str) -> String {
    text.replace("<LOG_DIR>", log_dir)
        .replace("<CPS>", ":")
        .replace("{{", "$")
        .replace("}}", "")
}
