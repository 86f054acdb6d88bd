//! The table of an attempt's transitions, row by row.
//! May touch: the table.
//! Must not: repeat its code.

use super::{LifeEvent as E, LifeState as S};

#[test]
fn the_table_has_exactly_these_rows() {
    let mut rows = vec![
        (S::Scheduled, E::Granted, S::AllocatedSaving),
        (S::AllocatedSaving, E::Saved, S::Allocated),
        (S::UnmanagedSaving, E::Saved, S::Launched),
        (S::Allocated, E::Launched, S::Launched),
        (S::Allocated, E::Registered, S::Running),
        (S::Launched, E::Registered, S::Running),
        (S::Finishing, E::AmGone, S::Finished),
    ];
    for state in [
        S::Scheduled,
        S::AllocatedSaving,
        S::Allocated,
        S::UnmanagedSaving,
        S::Launched,
        S::Running,
    ] {
        rows.push((state, E::End, S::FinalSaving));
    }
    for target in [S::Finishing, S::Finished, S::Failed, S::Killed] {
        rows.push((S::FinalSaving, E::EndSaved(target), target));
    }
    let mut events = vec![
        E::Granted,
        E::Saved,
        E::Launched,
        E::Registered,
        E::End,
        E::AmGone,
    ];
    events.extend(S::ALL.iter().map(|s| E::EndSaved(*s)));
    for state in S::ALL {
        for event in &events {
            let row = rows
                .iter()
                .find(|(from, on, _)| from == state && on == event);
            assert_eq!(
                state.after(*event),
                row.map(|r| r.2),
                "{state:?} on {event:?}"
            );
        }
    }
}
