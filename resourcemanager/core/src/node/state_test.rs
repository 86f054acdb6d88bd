//! The table of a node's transitions, row by row.
//! May touch: the table.
//! Must not: repeat its code.

use yarn_types::NodeState as S;

use super::{NodeEvent as E, after, is_active};

#[test]
fn a_node_leaves_only_while_active_and_comes_back_only_by_registering() {
    for state in S::ALL.iter().copied() {
        let going = state == S::Decommissioning;
        let registered = |to| (!going).then_some(to);
        assert_eq!(after(state, E::Registered), registered(S::Running));
        assert_eq!(
            after(state, E::RegisteredUnhealthy),
            registered(S::Unhealthy)
        );
        let stays = is_active(state) && !going;
        assert_eq!(
            after(state, E::GracefulDecommission),
            stays.then_some(S::Decommissioning)
        );
        assert_eq!(after(state, E::Recommission), going.then_some(S::Running));
        for (event, gone) in [
            (E::Expire, S::Lost),
            (E::Shutdown, S::Shutdown),
            (E::Decommission, S::Decommissioned),
            (E::Rebooting, S::Rebooted),
        ] {
            assert_eq!(
                after(state, event),
                is_active(state).then_some(gone),
                "{state} {event:?}"
            );
        }
        let sick = (state == S::Running).then_some(S::Unhealthy);
        assert_eq!(after(state, E::Sick), sick);
        let healthy = (state == S::Unhealthy).then_some(S::Running);
        assert_eq!(after(state, E::Healthy), healthy);
    }
}
