//! Tests of node_resources.
//! May touch: node_resources.
//! Must not: sleep.
