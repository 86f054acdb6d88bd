//! Tests of resource_types.
//! May touch: resource_types.
//! Must not: sleep.
