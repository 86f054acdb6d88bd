//! Tests of the loop itself: it must be able to find something.
//! May touch: this crate's own sources, as a corpus.
//! Must not: set variables.

use std::cell::Cell;

use super::*;

fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
}

#[test]
fn every_seed_comes_as_it_is_and_then_mutations() {
    let whole = fs::read(sources().join("lib.rs")).unwrap();
    let (same, other) = (Cell::new(0_u32), Cell::new(0_u32));
    fuzz(sources(), |input| {
        let count = if input == whole { &same } else { &other };
        count.set(count.get() + 1);
    })
    .unwrap();
    assert!(same.get() >= 1 && other.get() > 10);
}

#[test]
fn a_length_that_is_believed_is_found() {
    // A decoder that takes an announced length for granted.
    let believes = |input: &[u8]| {
        if let [b'/', b'/', length, rest @ ..] = input {
            assert!(usize::from(*length) <= rest.len());
        }
    };
    let seeds = [b"//\x03abc".to_vec()];
    let mut rng = StdRng::seed_from_u64(0);
    let broke = (0..10_000).any(|_| {
        let input = mutated(&seeds, &mut rng);
        catch_unwind(|| believes(&input)).is_err()
    });
    assert!(broke);
}

#[test]
fn a_corpus_that_is_not_there_is_an_error() {
    let error = fuzz(Path::new("no/such/corpus"), |_| ()).unwrap_err();
    assert!(error.to_string().contains("no/such/corpus"), "{error}");
}
