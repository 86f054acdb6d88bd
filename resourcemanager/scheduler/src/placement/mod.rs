//! Which queue an application goes to: queue mappings and JSON placement rules.
//! May touch: the rules and a read-only view of the queue tree.
//! Must not: create queues or look up groups (both come from the caller).
