//! `Millis`: the monotonic time that the shell stamps on every event.
//! May touch: integers.
//! Must not: read a clock.

/// Milliseconds on the driver's monotonic clock; only differences mean anything.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Millis(pub u64);

impl Millis {
    /// This instant plus `ms`, saturating.
    pub fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds since `earlier`; 0 when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
