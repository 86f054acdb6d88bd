//! Fuzzing on stable Rust: mutations of kept seeds, fed to a check in a loop that ends by the clock.
//! May touch: the corpus it is given (read only), the clock, the temporary directory on a failure.
//! Must not: know what it feeds, or run without a bound.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, io, process};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How long each target runs, in ms; `scripts/fuzz` sets it.
pub const DURATION_VARIABLE: &str = "HEDDLE_FUZZ_MS";
/// Seed of the mutations, a decimal number; `scripts/fuzz` sets and prints it.
pub const SEED_VARIABLE: &str = "HEDDLE_FUZZ_SEED";
/// What `cargo test` gives each target, in ms.
const DURATION_MS: u64 = 300;
/// Longest input, in bytes.
const INPUT_BYTES_MAX: usize = 64 * 1024;
/// No input of that size may take longer, however busy the machine is.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);
/// Mutations of one input.
const MUTATIONS_MAX: usize = 8;
/// Numbers at which decoders break: signs, and the edges of 8, 16 and 32 bits.
const EDGES: [u32; 10] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// Gives `check` every file of the folder `corpus` as it is, then mutations of them until the time is over.
/// An input that makes `check` panic is written to the temporary directory, and the panic goes on.
///
/// # Errors
/// The corpus cannot be read or is empty, or a variable is no number.
pub fn fuzz(corpus: &Path, check: impl Fn(&[u8])) -> io::Result<()> {
    let seeds = read_corpus(corpus)?;
    let duration = Duration::from_millis(number(DURATION_VARIABLE, DURATION_MS)?);
    let seed = number(SEED_VARIABLE, 0)?;
    let mut rng = StdRng::seed_from_u64(seed);
    let began = Instant::now();
    for input in &seeds {
        run(corpus, &check, input);
    }
    let mut count = seeds.len();
    while began.elapsed() < duration {
        run(corpus, &check, &mutated(&seeds, &mut rng));
        count += 1;
    }
    eprintln!("{}: {count} inputs, seed {seed}", corpus.display());
    Ok(())
}

/// The corpus in the order of file names, so that a seed always gives the same inputs.
fn read_corpus(corpus: &Path) -> io::Result<Vec<Vec<u8>>> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", corpus.display()));
    let mut paths = fs::read_dir(corpus)
        .and_then(|entries| {
            entries
                .map(|e| e.map(|e| e.path()))
                .collect::<Result<Vec<_>, _>>()
        })
        .map_err(named)?;
    paths.retain(|path| path.is_file());
    paths.sort();
    if paths.is_empty() {
        return Err(named(io::Error::other("no seed is kept here")));
    }
    paths.into_iter().map(fs::read).collect()
}

fn number(variable: &str, default: u64) -> io::Result<u64> {
    match env::var(variable) {
        Ok(text) => text
            .parse()
            .map_err(|_| io::Error::other(format!("{variable} is {text}, expected a number"))),
        Err(_) => Ok(default),
    }
}

fn run(corpus: &Path, check: &impl Fn(&[u8]), input: &[u8]) {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        check(input);
        let took = began.elapsed();
        assert!(took < INPUT_TIME_MAX, "one input took {took:?}");
    }));
    if let Err(cause) = outcome {
        let target = corpus.file_name().unwrap_or_default().to_string_lossy();
        let path = env::temp_dir().join(format!("fuzz-{target}-{}.bin", process::id()));
        match fs::write(&path, input) {
            Ok(()) => eprintln!(
                "failing input: {}; copy it to {} with its fix",
                path.display(),
                corpus.display()
            ),
            Err(e) => eprintln!("{}: {e}; failing input: {input:02x?}", path.display()),
        }
        resume_unwind(cause);
    }
}

/// One of the seeds with a few changes.
fn mutated(seeds: &[Vec<u8>], rng: &mut StdRng) -> Vec<u8> {
    let mut input = seeds[rng.random_range(0..seeds.len())].clone();
    for _ in 0..rng.random_range(1..=MUTATIONS_MAX) {
        mutate(&mut input, seeds, rng);
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut StdRng) {
    let from = rng.random_range(0..=input.len());
    let to = from + rng.random_range(0..=(input.len() - from).min(64));
    match rng.random_range(0..8) {
        0 if from < input.len() => input[from] ^= 1 << rng.random_range(0..8),
        1 if from < input.len() => input[from] = rng.random(),
        2 => {
            let edge = EDGES[rng.random_range(0..EDGES.len())];
            let bytes = match rng.random_range(0..3) {
                0 => edge.to_be_bytes().to_vec(),
                1 => edge.to_le_bytes().to_vec(),
                _ => edge.to_le_bytes()[..1].to_vec(),
            };
            let end = (from + bytes.len()).min(input.len());
            input.splice(from..end, bytes);
        }
        3 => drop(input.drain(from..to)),
        4 => {
            let copy = input[from..to].to_vec();
            let times = rng.random_range(1..=16);
            input.splice(from..from, copy.repeat(times));
        }
        5 => input.truncate(from),
        6 => {
            let other = &seeds[rng.random_range(0..seeds.len())];
            let start = rng.random_range(0..=other.len());
            input.truncate(from);
            input.extend_from_slice(&other[start..]);
        }
        _ => {
            let mut bytes = vec![0; rng.random_range(1..16)];
            rng.fill(&mut bytes[..]);
            input.splice(from..from, bytes);
        }
    }
}

#[cfg(test)]
#[path = "lib_test.rs"]
mod tests;
