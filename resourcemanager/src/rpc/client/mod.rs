//! ApplicationClientProtocol: the table of its methods.
//! May touch: wire messages.
//! Must not: hold logic (each file beside this one has its own part).

mod apps;
mod change;
mod cluster;
mod labels;
mod queues;
pub(super) mod reports;
mod submit;

use std::sync::Arc;

use super::{Context, Incoming, Method, errors, refuse};

pub(crate) use change::{expiry_time, parse_expiry};
pub(crate) use reports::{app_url_of, app_urls};

const fn row(name: &'static str, run: fn(&Arc<Context>, Incoming)) -> Method {
    Method { name, run }
}

pub(super) const METHODS: &[Method] = &[
    row("getNewApplication", submit::new_application),
    row("submitApplication", submit::submit),
    row("forceKillApplication", submit::kill),
    row("failApplicationAttempt", submit::fail_attempt),
    row("signalToContainer", submit::signal),
    row("getApplicationReport", apps::application),
    row("getApplications", apps::applications),
    row("getApplicationAttemptReport", apps::attempt),
    row("getApplicationAttempts", apps::attempts),
    row("getContainerReport", apps::container),
    row("getContainers", apps::containers),
    row("getClusterMetrics", cluster::metrics),
    row("getClusterNodes", cluster::nodes),
    row("getNodeToLabels", labels::node_to_labels),
    row("getLabelsToNodes", labels::labels_to_nodes),
    row("getClusterNodeLabels", labels::node_labels),
    row("getClusterNodeAttributes", cluster::node_attributes),
    row("getAttributesToNodes", cluster::attributes_to_nodes),
    row("getNodesToAttributes", cluster::nodes_to_attributes),
    row("getResourceTypeInfo", cluster::resource_types),
    row("getResourceProfiles", cluster::no_profiles),
    row("getResourceProfile", cluster::no_profiles),
    row("getQueueInfo", queues::queue),
    row("getQueueUserAcls", queues::user_acls),
    row("getNewReservation", no_reservations),
    row("submitReservation", no_reservations),
    row("updateReservation", no_reservations),
    row("deleteReservation", no_reservations),
    row("listReservations", no_reservations),
    row("getDelegationToken", no_delegation_tokens),
    row("renewDelegationToken", no_delegation_tokens),
    row("cancelDelegationToken", no_delegation_tokens),
    row("moveApplicationAcrossQueues", change::move_app),
    row("updateApplicationPriority", change::set_priority),
    row("updateApplicationTimeouts", change::set_timeouts),
];

/// What stock says while `yarn.resourcemanager.reservation-system.enable` is false.
fn no_reservations(_: &Arc<Context>, incoming: Incoming) {
    let text = "Reservation is not enabled. Please enable & try again";
    refuse(incoming, errors::yarn(text));
}

/// Stock's refusal of a caller that did not come with Kerberos.
fn no_delegation_tokens(_: &Arc<Context>, incoming: Incoming) {
    let text = "Delegation Token can be issued only with kerberos authentication";
    refuse(incoming, errors::yarn(text));
}
