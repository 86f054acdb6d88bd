//! The cache of localised resources: who asked for what, what is fetched once, what can go.
//! May touch: the values it is given.
//! Must not: read or write files, know clocks.

pub mod cache;
pub mod places;
pub mod resource;

pub use cache::{Answer, Cache, Done, FetchId, Removal};
pub use resource::{LocalResource, ResourceKey, ResourceKind, ResourceUrl, Scope, Visibility};
