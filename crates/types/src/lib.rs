//! YARN's ids, resources, states and limits, shared by every crate.
//! May touch: nothing but its own data; no dependency.
//! Must not: do IO, read clocks, or know a wire format.

pub mod acl;
pub mod exit;
pub mod gpu;
pub mod ids;
pub mod limits;
pub mod lookup;
pub mod resource;
pub mod states;
pub mod time;
pub mod units;

pub use acl::{AccessList, Caller};
pub use ids::{ApplicationAttemptId, ApplicationId, ContainerId, NodeId, ParseIdError};
pub use lookup::Lookup;
pub use resource::{GPU, LANES, MILLI, Resource, ResourceType, ResourceTypes};
pub use states::{
    ApplicationState, AttemptState, ContainerState, FinalStatus, NodeState, QueueState, Visibility,
};
pub use time::Millis;
