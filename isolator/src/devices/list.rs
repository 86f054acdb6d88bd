//! Which devices a container gets: the base list, its GPUs, the administrator's further nodes.
//! May touch: values it is given.
//! Must not: look at the machine.

use super::majors::{Majors, Node};
use super::{Access, Kind, Rule};

/// Major number of `/dev/nvidiaN` and `/dev/nvidiactl`, fixed in the driver.
pub const NVIDIA_MAJOR: u32 = 195;
/// Minor number of `/dev/nvidiactl`.
pub const NVIDIACTL_MINOR: u32 = 255;
/// Highest minor number of a card (254 is nvidia-modeset).
pub const GPU_MINOR_MAX: u32 = 253;
/// Device number of `nvidia-uvm` on a node with simulated GPUs.
pub const SIMULATED_UVM: (u32, u32) = (511, 0);

/// What every container may reach: null, zero, full, random, urandom, tty, ptmx and pts.
/// Making a node is harmless, since opening it is checked again; tar and cpio do it.
pub fn base() -> Vec<Rule> {
    let any = |kind| Rule {
        allow: true,
        kind,
        major: None,
        minor: None,
        access: Access::MKNOD,
    };
    let mut rules = vec![any(Kind::Char), any(Kind::Block)];
    rules.extend([3, 5, 7, 8, 9].map(|minor| Rule::char(1, minor, Access::RWM)));
    rules.extend([0, 2].map(|minor| Rule::char(5, minor, Access::RWM)));
    rules.push(Rule {
        allow: true,
        kind: Kind::Char,
        major: Some(136), // Unix98 pty slaves
        minor: None,
        access: Access::RWM,
    });
    rules
}

/// Rules for the granted cards, by minor number, and what in the driver is missing. Without a
/// card there is nothing: not even `nvidiactl`, so that NVML cannot start.
pub fn gpus(minors: &[u32], simulated: bool, majors: &Majors) -> (Vec<Rule>, Vec<String>) {
    if minors.is_empty() {
        return (vec![], vec![]);
    }
    let major = majors.gpu.unwrap_or(NVIDIA_MAJOR);
    let mut rules: Vec<Rule> = minors
        .iter()
        .map(|minor| Rule::char(major, *minor, Access::RW))
        .collect();
    rules.push(Rule::char(major, NVIDIACTL_MINOR, Access::RW));
    let uvm = if simulated {
        Some(SIMULATED_UVM)
    } else {
        majors.uvm.map(|major| (major, 0))
    };
    let Some((major, minor)) = uvm else {
        let fix = "nvidia-uvm (not in /proc/devices; load it with nvidia-modprobe -u -c=0)";
        return (rules, vec![fix.to_owned()]);
    };
    rules.push(Rule::char(major, minor, Access::RW));
    (rules, vec![])
}

/// Rules for the administrator's nodes, and a text for each that is missing or refused. A GPU is
/// never given this way: it would be open to every container.
pub fn further(
    nodes: &[(String, Result<Node, String>)],
    majors: &Majors,
) -> (Vec<Rule>, Vec<String>) {
    let mut rules = Vec::new();
    let mut missing = Vec::new();
    for (path, node) in nodes {
        match node {
            Err(reason) => missing.push(format!("{path} ({reason})")),
            Ok(node) if node.kind == Kind::Char && majors.is_gpu(node.major) => {
                missing.push(format!(
                    "{path} (a GPU device: only an ask for yarn.io/gpu opens it)"
                ));
            }
            Ok(node) => rules.push(Rule {
                allow: true,
                kind: node.kind,
                major: Some(node.major),
                minor: Some(node.minor),
                access: Access::RW,
            }),
        }
    }
    (rules, missing)
}

#[cfg(test)]
#[path = "list_test.rs"]
mod tests;
