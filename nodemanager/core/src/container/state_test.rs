//! Tests: the whole transition table.
//! May touch: the module under test.
//! Must not: sleep, or read clocks.

use super::*;

const INPUTS: [Input; 9] = [
    Input::Init,
    Input::Localized,
    Input::LocalizationFailed,
    Input::Launched,
    Input::ExitedWell,
    Input::ExitedBadly,
    Input::ExitedBySignal,
    Input::Kill,
    Input::TornDown,
];

/// The whole table, one row a state, one column an input; `.` means nothing happens.
#[test]
fn the_table_is_the_one_of_the_documentation() {
    let short = |s: State| match s {
        State::New => "N",
        State::Localizing => "L",
        State::LocalizationFailed => "F",
        State::Scheduled => "S",
        State::Running => "R",
        State::Killing => "K",
        State::CleanedUpAfterKill => "C",
        State::ExitedWithSuccess => "0",
        State::ExitedWithFailure => "1",
        State::Done => "D",
    };
    let rows: Vec<String> = State::ALL
        .iter()
        .map(|s| {
            let cells = INPUTS.map(|i| s.next(i).map_or(".", short));
            format!("{} {}", short(*s), cells.concat())
        })
        .collect();
    //                     init localized failed launched well badly signal kill torndown
    assert_eq!(
        rows,
        [
            "N L......D.",
            "L .SF....C.",
            "F ........D",
            "S ...R011K.",
            "R ....011K.",
            "K ...K01C..",
            "C ........D",
            "0 ........D",
            "1 ........D",
            "D .........",
        ]
    );
}

#[test]
fn a_kill_ends_every_state_that_lives() {
    for s in State::ALL {
        let after = s.next(Input::Kill).unwrap_or(s);
        let ends = after == State::Done || after == State::Killing || after.is_tearing_down();
        assert!(ends, "{s:?} survives a kill");
    }
}
