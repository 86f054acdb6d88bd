//! Tests of executor_cfg.
//! May touch: executor_cfg.
//! Must not: sleep.
