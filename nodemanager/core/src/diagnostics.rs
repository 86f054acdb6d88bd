//! A container's diagnostics: pieces with their time, the newest kept when there are too many.
//! May touch: text, wall milliseconds given by the caller.
//! Must not: read a clock or a time zone (times are UTC).

use crate::launch::diagnostics::entry;

/// Text that grows by pieces, each as `[yyyy-MM-dd HH:mm:ss.SSS]piece`, bounded by
/// `yarn.nodemanager.container-diagnostics-maximum-size` bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    text: String,
}

impl Diagnostics {
    /// Adds `piece` and a line end; the oldest bytes go when there are more than `bytes_max`.
    pub fn add(&mut self, wall_ms: i64, piece: &str, bytes_max: usize) {
        if piece.is_empty() {
            return;
        }
        self.text.push_str(&entry(wall_ms, piece));
        let excess = self.text.len().saturating_sub(bytes_max);
        if excess > 0 {
            let cut = (excess..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
            self.text.drain(..cut.unwrap_or(0));
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
#[path = "diagnostics_test.rs"]
mod tests;
