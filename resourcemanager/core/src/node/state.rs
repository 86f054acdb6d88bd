//! Transitions of a node's state, in one table over `yarn_types::NodeState`.
//! May touch: enums.
//! Must not: have effects (the handlers in this folder do).

use yarn_types::NodeState;

/// What can happen to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeEvent {
    /// It registered and is healthy.
    Registered,
    /// It registered and says it is not healthy.
    RegisteredUnhealthy,
    /// It says it is healthy.
    Healthy,
    /// It says it is not.
    Sick,
    /// Silent for too long.
    Expire,
    /// It said goodbye.
    Shutdown,
    /// Its host is excluded.
    Decommission,
    /// Its heartbeats are out of step: it must register again.
    Rebooting,
}

/// The state after `event`; `None` where the event changes nothing (`RMNodeImpl`'s table).
pub fn after(state: NodeState, event: NodeEvent) -> Option<NodeState> {
    use NodeEvent as E;
    use NodeState as S;
    match (state, event) {
        (_, E::Registered) | (S::Unhealthy, E::Healthy) => Some(S::Running),
        (_, E::RegisteredUnhealthy) | (S::Running, E::Sick) => Some(S::Unhealthy),
        (S::Running | S::Unhealthy, E::Expire) => Some(S::Lost),
        (S::Running | S::Unhealthy, E::Shutdown) => Some(S::Shutdown),
        (S::Running | S::Unhealthy, E::Decommission) => Some(S::Decommissioned),
        (S::Running | S::Unhealthy, E::Rebooting) => Some(S::Rebooted),
        _ => None,
    }
}

/// It may send heartbeats.
pub fn is_active(state: NodeState) -> bool {
    matches!(state, NodeState::Running | NodeState::Unhealthy)
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
