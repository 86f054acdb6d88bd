//! Shares of the cluster: what every queue is guaranteed and may hold, by partition.
//! May touch: the queues' configuration and the partitions' totals.
//! Must not: know use, applications or nodes.
