//! `libnvidia-ml.so.1` for machines without GPUs: NVML's C functions over a topology file.
//! May touch: the topology file named by `HEDDLE_GPU_TOPOLOGY`, and the caller's out-parameters.
//! Must not: panic into C, or know anything of Heddle.

#![allow(
    unsafe_code,
    reason = "an NVML library is a set of C functions that write through pointers"
)]
#![allow(non_snake_case, reason = "NVML's names")]
#![allow(
    clippy::missing_safety_doc,
    reason = "each function's contract is NVML's, see NVIDIA's NVML API reference"
)]

mod built;
mod cards;
mod symbols;
pub mod topology;

pub use built::library;
pub use symbols::*;
