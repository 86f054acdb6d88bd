//! conf.
