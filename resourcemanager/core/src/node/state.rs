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
    /// Its host is excluded, and it may finish what it runs.
    GracefulDecommission,
    /// Its host is not excluded any more.
    Recommission,
    /// Its heartbeats are out of step: it must register again.
    Rebooting,
}

/// The state after `event`; `None` where the event changes nothing (`RMNodeImpl`'s table).
pub fn after(state: NodeState, event: NodeEvent) -> Option<NodeState> {
    use NodeEvent as E;
    use NodeState as S;
    match (state, event) {
        // It stays on its way out, whatever it says of itself.
        (
            S::Decommissioning,
            E::Registered | E::RegisteredUnhealthy | E::Healthy | E::Sick | E::GracefulDecommission,
        ) => None,
        (_, E::Registered) | (S::Unhealthy, E::Healthy) | (S::Decommissioning, E::Recommission) => {
            Some(S::Running)
        }
        (_, E::RegisteredUnhealthy) | (S::Running, E::Sick) => Some(S::Unhealthy),
        (S::Running | S::Unhealthy, E::GracefulDecommission) => Some(S::Decommissioning),
        (active, E::Expire) if is_active(active) => Some(S::Lost),
        (active, E::Shutdown) if is_active(active) => Some(S::Shutdown),
        (active, E::Decommission) if is_active(active) => Some(S::Decommissioned),
        (active, E::Rebooting) if is_active(active) => Some(S::Rebooted),
        _ => None,
    }
}

/// It may send heartbeats.
pub fn is_active(state: NodeState) -> bool {
    matches!(
        state,
        NodeState::Running | NodeState::Unhealthy | NodeState::Decommissioning
    )
}

#[cfg(test)]
#[path = "state_test.rs"]
mod tests;
