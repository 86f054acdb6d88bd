//! The table of an application's transitions, row by row.
//! May touch: the table.
//! Must not: repeat its code.

use super::{AppEvent as E, AppState as S};

#[test]
fn the_table_has_exactly_these_rows() {
    let rows = [
        (S::NewSaving, E::Saved, S::Submitted),
        (S::NewSaving, E::Kill, S::FinalSaving),
        (S::Submitted, E::Accepted, S::Accepted),
        (S::Submitted, E::Rejected, S::FinalSaving),
        (S::Submitted, E::Kill, S::FinalSaving),
        (S::Accepted, E::AttemptRegistered, S::Running),
        (S::Accepted, E::AttemptFailedRetry, S::Accepted),
        (S::Accepted, E::AttemptFailedLast, S::FinalSaving),
        (S::Accepted, E::AttemptKilled, S::FinalSaving),
        (S::Accepted, E::Kill, S::Killing),
        (S::Running, E::AttemptUnregistered, S::FinalSaving),
        (S::Running, E::AttemptFailedRetry, S::Accepted),
        (S::Running, E::AttemptFailedLast, S::FinalSaving),
        (S::Running, E::Kill, S::Killing),
        (S::Killing, E::AttemptKilled, S::FinalSaving),
        (S::Killing, E::AttemptUnregistered, S::FinalSaving),
        (S::Killing, E::AttemptFailedRetry, S::FinalSaving),
        (S::Killing, E::AttemptFailedLast, S::FinalSaving),
        (S::FinalSaving, E::EndSaved(S::Finishing), S::Finishing),
        (S::FinalSaving, E::EndSaved(S::Finished), S::Finished),
        (S::FinalSaving, E::EndSaved(S::Failed), S::Failed),
        (S::FinalSaving, E::EndSaved(S::Killed), S::Killed),
        (S::Finishing, E::AttemptFinished, S::Finished),
    ];
    let mut events = vec![
        E::Saved,
        E::Accepted,
        E::Rejected,
        E::AttemptRegistered,
        E::AttemptUnregistered,
        E::AttemptFinished,
        E::AttemptFailedRetry,
        E::AttemptFailedLast,
        E::AttemptKilled,
        E::Kill,
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

#[test]
fn a_final_state_is_final() {
    for state in S::ALL.iter().filter(|s| s.is_final()) {
        assert!(
            state.is_end_stored()
                && state
                    .seen()
                    .is_some_and(yarn_types::ApplicationState::is_final)
        );
    }
}
