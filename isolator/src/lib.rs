//! isolator.
