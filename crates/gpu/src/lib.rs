//! What GPUs a node has: the `Probe` port, NVML behind it, and a watcher with a time limit.
//! May touch: NVML through nvml-wrapper, threads.
//! Must not: decide who gets a device, or block its caller.

pub mod allowed;
pub mod nvml;
pub mod watch;

use yarn_types::gpu::GpuDevice;

/// A reading of the node's cards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Cards in NVML's order; one whose details could not be read is there with bad health if it
    /// was seen before, else it is left out and named in `faults`.
    pub devices: Vec<GpuDevice>,
    /// What could not be read, in words.
    pub faults: Vec<String>,
    /// Driver version, empty when unknown.
    pub driver: String,
}

/// Why there is no reading at all.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ProbeError {
    /// The library cannot be loaded or refuses to start.
    #[error("NVML ({library}) is not usable: {reason}")]
    Unusable {
        /// Path or name of the library.
        library: String,
        /// Its words.
        reason: String,
    },
    /// It did not answer in time; the thread that asked is left to itself.
    #[error("NVML did not answer within {limit_ms} ms")]
    Timeout {
        /// The limit in milliseconds.
        limit_ms: u64,
    },
}

/// Something that can read the node's cards; may block.
pub trait Probe: Send {
    /// Reads every card now.
    ///
    /// # Errors
    /// No reading is possible at all; faults of single cards are part of a reading.
    fn read(&mut self) -> Result<Reading, ProbeError>;
}
