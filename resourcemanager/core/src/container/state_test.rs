//! The table of a container's transitions, row by row.
//! May touch: the table.
//! Must not: repeat its code.

use super::{EndCause, HeldEvent as E, HeldState as S};

#[test]
fn the_table_has_exactly_these_rows() {
    let rows = [
        (S::Allocated, E::Acquired, S::Acquired),
        (S::Allocated, E::Launched, S::Running),
        (S::Acquired, E::Launched, S::Running),
    ];
    for state in S::ALL {
        for event in [E::Acquired, E::Launched] {
            let row = rows
                .iter()
                .find(|(from, on, _)| from == state && *on == event);
            assert_eq!(
                state.after(event),
                row.map(|r| r.2),
                "{state:?} on {event:?}"
            );
        }
    }
}

#[test]
fn only_the_node_words_a_normal_end() {
    assert_eq!(EndCause::Finished.text(), None);
    assert_eq!(
        EndCause::Released.text(),
        Some("Container released by application")
    );
    assert_eq!(
        EndCause::NodeLost.text(),
        Some("Container released on a *lost* node")
    );
}
