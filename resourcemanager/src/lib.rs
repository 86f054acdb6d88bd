//! The ResourceManager's shell: sockets, tokens, launches and pages around the pure core.
//! May touch: the outside world, each file in its own way.
//! Must not: decide what the core decides.

pub mod acls;
pub mod auth;
pub mod boot;
pub mod driver;
#[cfg(test)]
mod fake;
pub mod groups;
pub mod hosts;
pub mod journal;
pub mod labels;
pub mod launcher;
pub mod outside;
pub mod rpc;
pub mod settings;
pub mod spellings;
pub mod store;
pub mod submissions;
pub mod topology;
pub mod web;
