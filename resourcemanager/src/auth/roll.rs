//! Rolls master keys when they are due and activates them when every node must know them.
//! May touch: the rings, timers.
//! Must not: roll at another time than the configuration says.

use std::{sync::Arc, time::Duration};

use hadoop_ipc::token::{KeyRing, MasterKey};

use super::{Auth, random_bytes};

/// Longest sleep, so that a suspended machine catches up soon after.
const SLEEP_MAX: Duration = Duration::from_mins(1);

impl Auth {
    /// Does what is due at `now_ms` after start; true when NMTokens are signed with a new key from now
    /// on.
    pub(super) fn roll_due(&self, now_ms: u64) -> bool {
        let mut rings = self.rings();
        let rings = &mut *rings;
        let mut nm_activated = false;
        for (name, ring) in [
            ("AMRMToken", &mut rings.amrm),
            ("container token", &mut rings.container),
            ("NMToken", &mut rings.nm),
        ] {
            let activated = ring.activate(now_ms);
            if activated {
                tracing::info!(
                    key_id = ring.current().id,
                    "new {name} master key is in force"
                );
            }
            if ring.roll_due_ms() <= now_ms {
                let key_id = ring.roll(now_ms, random_bytes(MasterKey::BYTES)).id;
                tracing::info!(key_id, "rolled the {name} master key");
            }
            nm_activated |= activated && name == "NMToken";
        }
        nm_activated
    }

    fn next_due_ms(&self) -> u64 {
        let rings = self.rings();
        let due = |ring: &KeyRing| {
            let roll = ring.roll_due_ms();
            ring.activation_due_ms().map_or(roll, |a| a.min(roll))
        };
        due(&rings.amrm)
            .min(due(&rings.nm))
            .min(due(&rings.container))
    }
}

/// Runs until the daemon ends; `nm_activated` is told when NMTokens change their key.
pub async fn keep_rolling(auth: Arc<Auth>, nm_activated: impl Fn()) {
    loop {
        let wait = auth.next_due_ms().saturating_sub(auth.now_ms());
        tokio::time::sleep(Duration::from_millis(wait.max(1)).min(SLEEP_MAX)).await;
        if auth.roll_due(auth.now_ms()) {
            nm_activated();
        }
    }
}
