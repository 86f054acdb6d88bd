//! Calls of ResourceManagerAdministrationProtocol: each is done as a whole or refused.
//! May touch: `Rm`.
//! Must not: check who may call, or read files (the shell does).

use crate::{
    effect::{Action, Effect, Reply},
    event::{AdminRequest, CallId, NodeOption},
    reject::Reject,
    rm::Rm,
};

impl Rm {
    pub(crate) fn on_admin(&mut self, call: CallId, request: AdminRequest, out: &mut Vec<Effect>) {
        let done = self.admin(request, out);
        let seq = done.as_ref().ok().copied().flatten();
        let reply = done.map(|_| Box::new(Reply::Done));
        out.push(Effect::once_stored(seq, Action::Reply { call, reply }));
    }

    /// The record that the answer must wait for, if any.
    fn admin(
        &mut self,
        request: AdminRequest,
        out: &mut Vec<Effect>,
    ) -> Result<Option<u64>, Reject> {
        match request {
            AdminRequest::Labels(change) => return self.change_labels(change, out).map(Some),
            AdminRequest::RefreshNodes { lists, how } => self.refresh_nodes(lists, how, out),
            AdminRequest::DecommissionNow => self.decommission_now(out),
            AdminRequest::UpdateNodeResource(options) => {
                self.update_node_resource(&options, out)?;
            }
            AdminRequest::RefreshNodesResources(options) => {
                self.update_node_resource(&options, out)?;
                self.remember_dynamic(options);
            }
            AdminRequest::ClusterMaxPriority(most) => {
                self.sched.set_max_application_priority(most);
            }
        }
        Ok(None)
    }

    /// Nodes that register from now on offer what dynamic-resources.xml says.
    pub(crate) fn remember_dynamic(&mut self, options: Vec<NodeOption>) {
        let entries = options
            .into_iter()
            .map(|o| (o.node, o.total.at_least_zero()));
        self.dynamic = entries.collect();
    }
}
