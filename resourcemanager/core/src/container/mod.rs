//! Containers that count: granted, handed out, running, and how they end.
//! May touch: `Rm`, through the handlers of this folder.
//! Must not: keep ended containers, or change an account except through `sched`.

mod change;
mod hold;
mod resize;
mod state;

use yarn_types::{ContainerId, Millis, Resource};

use crate::sched::{AppIdx, ContainerIdx, NodeIdx};

pub(crate) use hold::Ended;
pub use state::{EndCause, HeldEvent, HeldState};

/// A live container.
#[derive(Clone, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Container {
    /// Its id; the attempt in it is the one that it was granted to.
    pub id: ContainerId,
    /// Its state.
    pub state: HeldState,
    /// Its application.
    pub app: AppIdx,
    /// Where.
    pub node: NodeIdx,
    /// The scheduler's account of it.
    pub alloc: ContainerIdx,
    /// Its size.
    pub resource: Resource,
    /// Priority of its ask.
    pub priority: i32,
    /// Key of its ask.
    pub allocation_request_id: i64,
    /// It is an ApplicationMaster's.
    pub is_am: bool,
    /// When it was granted.
    pub granted_at: Millis,
    /// Wall milliseconds of that.
    pub created_wall_ms: i64,
    /// Changes of its size so far.
    pub version: i32,
    /// The size that its node is known to keep to; what is more expires unless it is used
    /// (`RMContainerImpl.lastConfirmedResource`).
    pub confirmed: Resource,
}

impl Container {
    /// Changes its state as the table says; false where the event changes nothing.
    pub fn step(&mut self, event: HeldEvent) -> bool {
        match self.state.after(event) {
            Some(state) => {
                self.state = state;
                true
            }
            None => false,
        }
    }
}
