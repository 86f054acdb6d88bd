//! `Clock`: the one place where the driver reads time.
//! May touch: the monotonic clock and the wall clock.
//! Must not: decide anything.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use yarn_types::Millis;

/// A wall clock that moves this far against the monotonic one has jumped.
const JUMP_MS: u64 = 500;

/// Monotonic milliseconds since start, and the wall clock beside them.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    /// Wall minus monotonic, as last told to the core.
    told_offset_ms: Option<i64>,
}

impl Clock {
    /// Starts at 0 now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            told_offset_ms: None,
        }
    }

    /// Now.
    pub fn now(&self) -> Millis {
        Millis(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// How long until `at`; zero when it has passed.
    pub fn until(&self, at: Millis) -> Duration {
        Duration::from_millis(at.0).saturating_sub(self.start.elapsed())
    }

    /// Wall milliseconds when the core must be told: at start and after a jump.
    pub fn wall_news(&mut self, now: Millis) -> Option<i64> {
        let wall_ms = wall_ms();
        let offset = wall_ms.saturating_sub(i64::try_from(now.0).unwrap_or(i64::MAX));
        let told = self
            .told_offset_ms
            .is_some_and(|told| told.abs_diff(offset) < JUMP_MS);
        if told {
            return None;
        }
        self.told_offset_ms = Some(offset);
        Some(wall_ms)
    }
}

/// Milliseconds since 1970 by the wall clock; 0 before that.
pub fn wall_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
