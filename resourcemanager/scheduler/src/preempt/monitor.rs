//! The monitor: runs the selectors in their order and remembers what it asked for
//! (`ProportionalCapacityPreemptionPolicy`).
//! May touch: its marks.
//! Must not: choose containers.

use std::collections::BTreeMap;

use yarn_types::Millis;

use super::{
    Action, ContainerKey, QueueRow, Rules, Snapshot, Source, fifo, ideal::Purpose, intra, priority,
    reserved, round::Round, table::Table,
};
use crate::conf::PreemptionConf;

/// The monitor and its memory.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Monitor {
    marked: BTreeMap<ContainerKey, Millis>,
    table: Table,
    total_marked: u64,
    total_killed: u64,
}

impl Monitor {
    /// One round. What was marked before and is chosen again is killed when its time is up, and
    /// else left alone; marks that were not renewed are forgotten after twice the wait.
    ///
    /// Nothing comes out, and no mark is made, with `observe_only`.
    pub fn tick(
        &mut self,
        now: Millis,
        snapshot: &Snapshot,
        conf: &PreemptionConf,
        rules: &Rules<'_>,
    ) -> Vec<Action> {
        self.run(Round::new(now, snapshot, conf, rules))
    }

    /// [`Self::tick`] with containers from `source`.
    pub fn tick_from(
        &mut self,
        now: Millis,
        snapshot: &Snapshot,
        source: Source<'_>,
        conf: &PreemptionConf,
        rules: &Rules<'_>,
    ) -> Vec<Action> {
        self.run(Round::new(now, snapshot, conf, rules).with_source(source))
    }

    fn run(&mut self, mut round: Round<'_>) -> Vec<Action> {
        let (now, conf) = (round.now, round.conf);
        select(&mut round);
        let mut actions = Vec::new();
        if !conf.observe_only {
            actions = std::mem::take(&mut round.at_once);
            for (place, wait_ms) in &round.picks {
                let key = round.container(*place).key;
                actions.extend(self.mark_or_kill(now, key, *wait_ms));
            }
            let keep_ms = conf.max_wait_before_kill_ms.saturating_mul(2);
            self.marked.retain(|_, since| now.since(*since) <= keep_ms);
        }
        self.table = round.table;
        actions
    }

    fn mark_or_kill(&mut self, now: Millis, key: ContainerKey, wait_ms: u64) -> Option<Action> {
        match self.marked.get(&key) {
            None => {
                self.marked.insert(key, now);
                self.total_marked += 1;
                Some(Action::MarkPreemption(key))
            }
            Some(since) if since.plus(wait_ms) <= now => {
                self.marked.remove(&key);
                self.total_killed += 1;
                Some(Action::Kill(key))
            }
            Some(_) => None,
        }
    }

    /// Forgets a container that is gone.
    pub fn forget(&mut self, key: ContainerKey) {
        self.marked.remove(&key);
    }

    /// Containers that were asked for, with when.
    pub fn marked(&self) -> impl Iterator<Item = (ContainerKey, Millis)> + '_ {
        self.marked.iter().map(|(key, since)| (*key, *since))
    }

    /// How many were ever marked.
    pub fn total_marked(&self) -> u64 {
        self.total_marked
    }

    /// How many were ever to be killed.
    pub fn total_killed(&self) -> u64 {
        self.total_killed
    }

    /// The working table of the last round: what the last selector that computed it saw, as places
    /// of that round's snapshot.
    pub fn row(&self, queue: usize, partition: usize) -> Option<&QueueRow> {
        self.table.rows.get(partition)?.get(queue)
    }
}

/// All selectors that are on, in Hadoop's order.
fn select(round: &mut Round<'_>) {
    let conf = round.conf;
    if conf.underutilized {
        priority::select(round);
    }
    if conf.select_reserved {
        reserved::select(round);
    }
    fifo::select(
        round,
        Purpose {
            reserved: conf.balance_reserved,
            balance: false,
        },
    );
    if conf.balance_after_satisfied {
        if conf.balance_max_wait_before_kill_ms > 0 {
            round.wait_ms = conf.balance_max_wait_before_kill_ms;
        }
        fifo::select(
            round,
            Purpose {
                reserved: false,
                balance: true,
            },
        );
        round.wait_ms = conf.max_wait_before_kill_ms;
    }
    if conf.intra.enabled {
        intra::select(round);
    }
}

#[cfg(test)]
#[path = "monitor_test.rs"]
mod tests;
