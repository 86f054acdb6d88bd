//! The preemption monitor: which containers must go so that every queue gets its guarantee.
//! May touch: a snapshot of queues and containers; its own marks.
//! Must not: change an account or know a clock (time comes with the tick).
