//! Answers of the core: kept for repetitions, judged, sent, and taken by those who wait for them.
//! May touch: the world.
//! Must not: let an answer out that the store does not allow.

use rm_core::{
    CallId, Reject, Reply,
    effect::{Grant, Record},
};
use yarn_types::NodeId;

use super::{Caller, Message, World};
use crate::{Mutant, node::SimNode};

impl World {
    /// Sends an answer; repeats are answered with the last answer kept, as the shell does.
    pub(super) fn answer(
        &mut self,
        call: CallId,
        reply: Result<Reply, Reject>,
    ) -> Result<(), String> {
        let Some(caller) = self.callers.get(&call).cloned() else {
            return Err(format!("an answer to {call:?}, which nobody made"));
        };
        let reply = match reply {
            Ok(Reply::AllocatedAgain | Reply::HeartbeatAgain) => {
                if self.options.mutant == Some(Mutant::ForgetLastAnswer) {
                    Ok(Reply::Done)
                } else {
                    let last = self.last_answers.get(&caller).cloned();
                    Ok(last.ok_or(format!("nothing to repeat for {caller:?}"))?)
                }
            }
            Ok(reply @ (Reply::Allocated(_) | Reply::Heartbeat(_))) => {
                let normal = !matches!(
                    &reply,
                    Reply::Heartbeat(h) if h.action != rm_core::effect::NodeAction::Normal
                );
                if normal {
                    self.last_answers.insert(caller.clone(), reply.clone());
                }
                Ok(reply)
            }
            other => other,
        };
        if let (Caller::Admin(what), Ok(_)) = (&caller, &reply) {
            self.report.count(what, 1);
        }
        self.told_too_early(&caller, &reply)?;
        if let Ok(Reply::Allocated(allocated)) = &reply {
            let told = u64::from(!allocated.preempting.is_empty());
            self.report.count("masters told what is asked back", told);
            for grant in &allocated.grants {
                self.note_told(grant)?;
            }
        }
        self.send(Message::Reply(caller, call, reply));
        Ok(())
    }

    /// Nothing may be told before it lasts.
    fn told_too_early(&self, caller: &Caller, reply: &Result<Reply, Reject>) -> Result<(), String> {
        let lasts = |wanted: &dyn Fn(&Record) -> bool| {
            self.records
                .range(..=self.stored)
                .any(|(_, record)| wanted(record))
        };
        match (caller, reply) {
            (Caller::Client(id), Ok(Reply::Done)) => {
                let submitted = |r: &Record| matches!(r, Record::AppSubmitted { app } if app == id);
                if !lasts(&submitted) {
                    return Err(format!("{id} was confirmed before it was stored"));
                }
            }
            (Caller::Master(id), Ok(Reply::Unregistered(true))) => {
                let ended =
                    |r: &Record| matches!(r, Record::AppEnded { app, .. } if *app == id.app);
                if !lasts(&ended) {
                    return Err(format!("{id} was let go before its end was stored"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn deliver(
        &mut self,
        caller: &Caller,
        call: CallId,
        reply: &Result<Reply, Reject>,
    ) -> Result<(), String> {
        let now = self.now_ms;
        match caller {
            Caller::Client(app) => {
                if reply.is_ok() {
                    self.submissions.remove(app);
                    self.submitted.insert(*app);
                }
            }
            Caller::Admin(_) => {}
            Caller::Node(at) => {
                if let Ok(reply) = reply {
                    self.count_calm_beat(*at, call, reply);
                    self.nodes[*at].on_reply(call, reply, now);
                }
            }
            Caller::Master(attempt) => {
                let Some(master) = self.masters.get_mut(attempt) else {
                    return Ok(());
                };
                let (grants, updated) = master.on_reply(call, reply, now);
                if let Some(complaint) = master.model.complaints.first() {
                    return Err(format!("{attempt}: {complaint}"));
                }
                for grant in updated {
                    self.report.count("resized", 1);
                    let node = self.nodes.iter_mut().find(|n| n.model.id == grant.node);
                    if let Some(node) = node.filter(|n| n.is_up(now)) {
                        node.model.resize(&grant);
                    }
                }
                for grant in grants {
                    let longest = if self.options.town { 40_000 } else { 10_000 };
                    let ends = now + self.rng.between(500, longest);
                    self.start(&grant.node, &grant, ends);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, id: &NodeId, grant: &Grant, ends_ms: u64) {
        let now = self.now_ms;
        // A node that is down cannot start anything; the container expires in the RM.
        let up = |n: &&mut SimNode| n.model.id == *id && n.is_up(now) && n.model.registered;
        if let Some(node) = self.nodes.iter_mut().find(up) {
            node.start(grant, Some(ends_ms));
        }
    }
}
