//! The limits of a cgroup v1 or v2 directory, through cgroups-rs.
//! May touch: the controller files of the directory it is given.
//! Must not: make or remove the directory.

use std::path::{Path, PathBuf};

use cgroups_rs::fs::MaxValue;
use cgroups_rs::fs::cpu::CpuController;
use cgroups_rs::fs::memory::MemController;
use cgroups_rs::fs::pid::PidController;

use super::{CpuLimit, Limit, LimitError, Limits, MemoryLimit};
use crate::cgroup::mounts::Mode;

/// The kernel rounds memory limits down to whole pages of at most this size.
const PAGE_BYTES_MAX: u64 = 65_536;

/// One directory of one controller (v1) or of all (v2).
#[derive(Debug, Clone)]
pub struct KernelLimits {
    dir: PathBuf,
    mode: Mode,
}

impl KernelLimits {
    /// The limits of `dir`.
    pub fn new(dir: &Path, mode: Mode) -> Self {
        let dir = dir.to_owned();
        Self { dir, mode }
    }

    fn v2(&self) -> bool {
        self.mode == Mode::V2
    }

    fn error(&self, controller: &'static str, reason: &impl std::error::Error) -> LimitError {
        // cgroups-rs keeps the system's answer as the source of its error.
        let reason = match reason.source() {
            Some(source) => format!("{reason}: {source}"),
            None => reason.to_string(),
        };
        LimitError {
            controller,
            cgroup: self.dir.display().to_string(),
            reason,
        }
    }

    fn set_memory(&self, limit: &MemoryLimit) -> Result<(), cgroups_rs::fs::error::Error> {
        let files = MemController::new(self.dir.clone(), self.dir.clone(), self.v2());
        files.set_limit(signed(limit.hard_bytes))?;
        if let Some(bytes) = limit.soft_bytes {
            files.set_soft_limit(signed(bytes))?;
        }
        match limit.swappiness {
            // Under v2 the crate would write another limit, memory.swap.max.
            Some(value) if !self.v2() => files.set_swappiness(value),
            _ => Ok(()),
        }
    }

    fn set_cpu(&self, limit: &CpuLimit) -> Result<(), cgroups_rs::fs::error::Error> {
        let files = CpuController::new(self.dir.clone(), self.dir.clone(), self.v2());
        files.set_shares(if self.v2() {
            limit.weight()
        } else {
            limit.shares()
        })?;
        if let Some(q) = limit.quota {
            // The period first: a quota is checked against the period that is set.
            files.set_cfs_period(u64::from(q.period_us))?;
            files.set_cfs_quota(i64::from(q.quota_us))?;
        }
        Ok(())
    }

    fn read(&self, controller: &'static str, file: &str) -> Result<String, LimitError> {
        let path = self.dir.join(file);
        std::fs::read_to_string(&path)
            .map(|text| text.trim().to_owned())
            .map_err(|e| LimitError {
                controller,
                cgroup: self.dir.display().to_string(),
                reason: format!("{file}: {e}"),
            })
    }
}

/// The kernel's limits are signed in cgroups-rs; more than `i64::MAX` bytes is no limit.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Limits for KernelLimits {
    fn set(&self, limit: &Limit) -> Result<(), LimitError> {
        let done = match limit {
            Limit::Memory(memory) => self.set_memory(memory),
            Limit::Cpu(cpu) => self.set_cpu(cpu),
            Limit::Pids(most) => {
                let files = PidController::new(self.dir.clone(), self.dir.clone(), self.v2());
                files.set_pid_max(MaxValue::Value(i64::from(*most)))
            }
        };
        done.map_err(|e| self.error(limit.controller(), &e))
    }

    fn differences(&self, limit: &Limit) -> Result<Vec<(String, String, String)>, LimitError> {
        let (file, wanted, slack) = match (limit, self.mode) {
            (Limit::Memory(m), Mode::V1) => ("memory.limit_in_bytes", m.hard_bytes, PAGE_BYTES_MAX),
            (Limit::Memory(m), Mode::V2) => ("memory.max", m.hard_bytes, PAGE_BYTES_MAX),
            (Limit::Cpu(c), Mode::V1) => ("cpu.shares", c.shares(), 0),
            (Limit::Cpu(c), Mode::V2) => ("cpu.weight", c.weight(), 0),
            (Limit::Pids(most), _) => ("pids.max", u64::from(*most), 0),
        };
        let held = self.read(limit.controller(), file)?;
        // `max` is no number and differs from every limit.
        let same = held
            .parse::<u64>()
            .is_ok_and(|n| n <= wanted && wanted - n <= slack);
        if same {
            return Ok(vec![]);
        }
        Ok(vec![(file.to_owned(), held, wanted.to_string())])
    }

    fn oom_kills(&self) -> Result<u64, LimitError> {
        let file = if self.v2() {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        let text = self.read("memory", file)?;
        let count = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(name, _)| *name == "oom_kill");
        count
            .and_then(|(_, n)| n.trim().parse().ok())
            .ok_or_else(|| LimitError {
                controller: "memory",
                cgroup: self.dir.display().to_string(),
                reason: format!("{file} has no oom_kill line"),
            })
    }
}
