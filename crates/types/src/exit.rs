//! Container exit codes with a meaning of their own.
//! May touch: constants.
//! Must not: map them to texts (RM and NM word them differently).

/// Not finished yet, or localisation failed (`ContainerExitStatus.INVALID`).
pub const INVALID: i32 = -1000;
/// Released by its application or by the RM (`ABORTED`); not the application's fault.
pub const ABORTED: i32 = -100;
/// Too many local or log disks failed (`DISKS_FAILED`).
pub const DISKS_FAILED: i32 = -101;
/// Taken by the scheduler (`PREEMPTED`).
pub const PREEMPTED: i32 = -102;
/// Beyond its virtual memory (`KILLED_EXCEEDED_VMEM`).
pub const KILLED_EXCEEDED_VMEM: i32 = -103;
/// Beyond its physical memory (`KILLED_EXCEEDED_PMEM`).
pub const KILLED_EXCEEDED_PMEM: i32 = -104;
/// Stopped by its ApplicationMaster (`KILLED_BY_APPMASTER`).
pub const KILLED_BY_APPMASTER: i32 = -105;
/// Killed by the RM (`KILLED_BY_RESOURCEMANAGER`).
pub const KILLED_BY_RESOURCEMANAGER: i32 = -106;
/// Killed because its application ended (`KILLED_AFTER_APP_COMPLETION`).
pub const KILLED_AFTER_APP_COMPLETION: i32 = -107;
/// A log file grew beyond the limit (`KILLED_FOR_EXCESS_LOGS`).
pub const KILLED_FOR_EXCESS_LOGS: i32 = -109;
/// 128 + SIGKILL.
pub const FORCE_KILLED: i32 = 137;
/// 128 + SIGTERM.
pub const TERMINATED: i32 = 143;
