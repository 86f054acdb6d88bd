//! Segments on disk: names, rights, the ring, and that they replay one after another.
//! May touch: a temporary directory, a core without anything in it.
//! Must not: start a daemon.

use std::os::unix::fs::PermissionsExt as _;

use rm_core::{Boot, RmConf, conf::Calculator};
use rm_journal::Replay;
use yarn_types::ResourceTypes;

use super::*;

fn rm() -> Rm {
    let queues: std::collections::BTreeMap<String, String> = [
        ("yarn.scheduler.capacity.root.queues", "default"),
        ("yarn.scheduler.capacity.root.default.capacity", "100"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect();
    let types = ResourceTypes::memory_and_vcores();
    let conf = RmConf::from_lookup(&queues, types, Calculator::Dominant).unwrap();
    Rm::new(Boot {
        cluster_timestamp: 1_700_000_000_000,
        epoch: 0,
        seed: 0,
        conf,
    })
}

fn run(dir: &Path, segments: Option<usize>, events: u64) -> Rm {
    let mut rm = rm();
    let options = JournalOptions {
        dir: dir.to_owned(),
        segment_bytes: 4_096,
        segments,
    };
    let mut journal = Journal::start(options).unwrap();
    journal.begin(&rm);
    for at in 0..events {
        let (now, event) = (Millis(at), Event::WallClock { wall_ms: 5 });
        journal.event(now, &event);
        rm.apply(now, event, &mut Vec::new());
        journal.pass(now);
        rm.pass(now, &mut Vec::new());
        journal.end(&rm);
    }
    journal.close(&rm);
    rm
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn all_segments_replay_to_the_state_of_the_core() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("made/here");
    let rm = run(&dir, None, 500);
    let files = files(&dir);
    assert!(files.len() > 2, "{files:?}");
    assert!(files[0].ends_with("rm-1700000000000-000000.journal"));
    let mut replay = Replay::default();
    for file in &files {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        replay.segment(File::open(file).unwrap(), |_| {}).unwrap();
    }
    assert_eq!(replay.rm().unwrap().digest(), rm.digest());
}

#[test]
fn a_ring_keeps_the_newest_and_each_replays_alone() {
    let dir = tempfile::tempdir().unwrap();
    let stranger = dir.path().join("rm-notes.txt");
    fs::write(&stranger, "mine").unwrap();
    let rm = run(dir.path(), Some(2), 500);
    let all = files(dir.path());
    assert!(stranger.exists());
    assert_eq!(all.len(), 3, "{all:?}");
    let mut replay = Replay::default();
    replay
        .segment(File::open(&all[1]).unwrap(), |_| {})
        .unwrap();
    assert_eq!(replay.rm().unwrap().digest(), rm.digest());
}

#[test]
fn a_directory_that_cannot_be_written_ends_the_journal_alone() {
    let dir = tempfile::tempdir().unwrap();
    let taken = dir.path().join("rm-1700000000000-000000.journal");
    fs::write(&taken, "an earlier file").unwrap();
    let rm = run(dir.path(), Some(4), 200);
    assert_eq!(rm.seq(), 200);
    assert_eq!(fs::read_to_string(&taken).unwrap(), "an earlier file");
}
