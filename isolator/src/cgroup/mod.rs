//! Cgroup mounts of this machine and the life of one cgroup directory.
//! May touch: `/proc/self/mountinfo`, cgroup directories below our own hierarchy.
//! Must not: know GPUs or containers; move or kill a process outside the directory it is given.

pub mod dir;
pub mod mounts;

pub use mounts::Mounts;
