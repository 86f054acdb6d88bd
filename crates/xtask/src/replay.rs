//! `cargo xtask replay FILE…`: re-runs a journal and compares the digests that stand in it.
//! May touch: the files it is given, standard output.
//! Must not: change anything.

use std::{fs::File, io::BufReader, path::Path, process::ExitCode, sync::Mutex};

use rm_journal::{Position, Replay, ReplayError};

const USAGE: &str = "\
usage: cargo xtask replay FILE…

Re-runs the segments of a ResourceManager's journal, in the order given, from the snapshot of the
first. The last line is `digest: HEX`, of the state that was reached.
exit: 0 every digest is that of the journal, 1 a difference or a damaged file, 2 wrong use";

/// Where the replay is, for the words of a core that stops with a panic.
static AT: Mutex<Option<(String, Position)>> = Mutex::new(None);

/// Replays the files of the command line.
pub(crate) fn run(files: &[String]) -> ExitCode {
    if files.is_empty() || files.iter().any(|file| file.starts_with('-')) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    tell_where_the_core_stops();
    let mut replay = Replay::default();
    let mut code = ExitCode::SUCCESS;
    for file in files {
        let from = match File::open(Path::new(file)) {
            Ok(from) => BufReader::new(from),
            Err(e) => {
                eprintln!("{file}: {e}");
                return ExitCode::from(2);
            }
        };
        let done = replay.segment(from, |at| {
            if let Ok(mut place) = AT.lock() {
                *place = Some((file.clone(), at.clone()));
            }
        });
        if let Err(e) = done {
            eprintln!("{file}: {}", in_words(&e, &replay));
            code = ExitCode::from(1);
            break;
        }
    }
    let Some(rm) = replay.rm() else { return code };
    println!(
        "{} events, {} digests compared",
        replay.position().event,
        replay.digests()
    );
    println!("digest: {:016x}", rm.digest());
    code
}

fn in_words(e: &ReplayError, replay: &Replay) -> String {
    match e {
        ReplayError::Journal(e) => format!("{e} (after event {})", replay.position().event),
        other => other.to_string(),
    }
}

/// A journal that ends where the ResourceManager stopped by an assertion stops the replay in the
/// same way: say at which event.
fn tell_where_the_core_stops() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        let place = AT.lock().ok().and_then(|place| place.clone());
        if let Some((file, at)) = place {
            eprintln!(
                "{file}: the core stopped at event {}, {} ms, {}",
                at.event, at.now.0, at.what
            );
        }
        std::process::exit(1);
    }));
}
