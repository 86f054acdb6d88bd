//! Hostile journals: damaged anywhere, with sums that fit, so that every decoder sees the damage.
//! May touch: the reader, a temporary corpus made of real segments.
//! Must not: replay what it read (a core takes only what its own program wrote).
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::fs;

use rm_core::{Event, Rm};
use rm_journal::{Batch, Reader, segment};
use testkit::{boot, conf::settings};
use yarn_types::Millis;

fn read_all(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    while let Ok(Some(_)) = reader.next_item() {}
}

/// Gives every record the sum of what it holds now.
fn with_fitting_sums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = 10;
    while let Some(head) = bytes.get(at..at + 8) {
        let length: [u8; 4] = head[..4].try_into().unwrap();
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap();
        let end = (at + 8).saturating_add(length).min(bytes.len());
        let sum = crc32fast::hash(&bytes[at + 8..end]);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
    bytes
}

#[test]
fn fuzz_journal() {
    let corpus = tempfile::tempdir().unwrap();
    let mut rm = Rm::new(boot(&settings("a:60 b:40")));
    let whole = segment(&rm, 0).unwrap();
    fs::write(corpus.path().join("snapshot"), &whole).unwrap();
    let mut batch = Batch::default();
    let mut events = whole[..10].to_vec();
    for at in 0..20 {
        let event = Event::WallClock { wall_ms: at };
        batch.event(Millis(5), &event);
        rm.apply(Millis(5), event, &mut Vec::new());
        batch.pass(Millis(5));
        events.extend(batch.finish(&rm).unwrap());
    }
    fs::write(corpus.path().join("events"), &events).unwrap();
    fuzz_loop::fuzz(corpus.path(), |input| {
        read_all(input);
        read_all(&with_fitting_sums(input));
    })
    .unwrap();
}
