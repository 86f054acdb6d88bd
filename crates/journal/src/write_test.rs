//! Segments read back: whole, cut, damaged, of another state; with a core that does something.
//! May touch: testkit's cluster.
//! Must not: open files.

use rm_core::Rm;
use testkit::{boot, conf::settings};

use super::*;
use crate::{Item, Reader, Replay, ReplayError};

fn ticks(rm: &mut Rm, count: u64, bytes: &mut Vec<u8>) {
    let mut batch = Batch::default();
    for at in 1..=count {
        let now = Millis(at * 10);
        for event in [Event::WallClock { wall_ms: 7 }, Event::Tick] {
            batch.event(now, &event);
            rm.apply(now, event, &mut Vec::new());
        }
        batch.pass(now);
        rm.pass(now, &mut Vec::new());
        bytes.extend(batch.finish(rm).unwrap());
    }
    bytes.extend(batch.close(rm).unwrap());
}

fn journal() -> (Vec<u8>, Rm) {
    let mut rm = Rm::new(boot(&settings("a:60 b:40")));
    let mut bytes = segment(&rm, 0).unwrap();
    ticks(&mut rm, 600, &mut bytes);
    (bytes, rm)
}

fn replay(bytes: &[u8]) -> Result<Replay, ReplayError> {
    let mut replay = Replay::default();
    replay.segment(bytes, |_| {}).map(|()| replay)
}

#[test]
fn a_segment_replays_to_the_state_that_wrote_it() {
    let (bytes, rm) = journal();
    let replay = replay(&bytes).unwrap();
    assert_eq!(replay.rm().unwrap().digest(), rm.digest());
    assert_eq!(
        replay.digests(),
        2,
        "one after 1,000 events, one at the end"
    );
    assert_eq!(replay.position().event, 1_200);
}

#[test]
fn segments_in_order_continue_each_other_and_others_do_not() {
    let (first, mut rm) = journal();
    let mut second = segment(&rm, 1).unwrap();
    ticks(&mut rm, 5, &mut second);
    let mut replay = replay(&first).unwrap();
    replay.segment(&*second, |_| {}).unwrap();
    assert_eq!(replay.rm().unwrap().digest(), rm.digest());
    let Err(ReplayError::Difference(e)) = replay.segment(&*second, |_| {}) else {
        panic!("a segment cannot follow itself");
    };
    assert_eq!(e.what, "snapshot");
}

#[test]
fn the_first_difference_is_named_with_its_event() {
    let mut rm = Rm::new(boot(&settings("a:60 b:40")));
    let mut bytes = segment(&rm, 0).unwrap();
    ticks(&mut rm, 2, &mut bytes);
    // the core took an event that nobody noted
    rm.apply(Millis(50), Event::Tick, &mut Vec::new());
    ticks(&mut rm, 3, &mut bytes);
    let Err(ReplayError::Difference(e)) = replay(&bytes) else {
        panic!("a lost event is not noticed");
    };
    assert_eq!((e.agreed, e.at.event, e.what), (4, 6, "mark"));
    assert!(e.to_string().contains("at event 6, 10 ms, tick"), "{e}");
}

#[test]
fn a_cut_tail_is_named_wherever_it_is_cut() {
    let (bytes, _) = journal();
    let whole = bytes.len();
    for cut in [1, 2, 30, 40, 100] {
        match replay(&bytes[..whole - cut]) {
            Ok(_) | Err(ReplayError::Journal(JournalError::Cut { .. })) => {}
            other => panic!("cut by {cut}: {:?}", other.err()),
        }
    }
    let e = replay(&bytes[..whole - 1]).err().unwrap().to_string();
    assert!(e.starts_with("the tail is cut: the record at byte"), "{e}");
    for length in [0, 5, 9] {
        assert!(replay(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let (bytes, _) = journal();
    for at in (0..bytes.len()).step_by(211).chain(0..20) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(replay(&damaged).is_err(), "byte {at}");
    }
}

#[test]
fn a_file_of_another_kind_or_format_is_refused() {
    let (mut bytes, _) = journal();
    bytes[8] = 9;
    let e = replay(&bytes).err().unwrap().to_string();
    assert_eq!(e, "is a journal of format 9; this program reads format 3");
    let e = replay(b"<?xml version='1.0'?>").err().unwrap().to_string();
    assert!(e.starts_with("is no journal"), "{e}");
}

#[test]
fn items_read_as_they_were_written() {
    let rm = Rm::new(boot(&settings("a:100")));
    let bytes = segment(&rm, 3).unwrap();
    let mut reader = Reader::new(&*bytes);
    let Some(Item::Header(header)) = reader.next_item().unwrap() else {
        panic!("no header");
    };
    assert_eq!((header.segment, header.types.len()), (3, 3));
    assert_eq!(header.cluster_timestamp, 1_700_000_000_000);
    let Some(Item::Snapshot(read)) = reader.next_item().unwrap() else {
        panic!("no snapshot");
    };
    assert_eq!(segment(&read, 3).unwrap(), bytes);
    assert!(reader.next_item().unwrap().is_none());
}
