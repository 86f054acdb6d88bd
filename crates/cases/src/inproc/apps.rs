//! Applications' steps: submission, asks, ends of containers, resizes.
//! May touch: the core.
//! Must not: read facts.

use std::sync::Arc;

use capacity_scheduler::sched::{ANY, AppIdx, ContainerIdx, RawAsk, Submitted};

use super::{App, InProcess, application_id};
use crate::{
    steps::{Ask, AskList, Complete, Resize, ResizeKind, Submit, Which, WhichName},
    target::Done,
    value::Res,
};

impl InProcess {
    pub(super) fn submit_app(&mut self, submit: &Submit) -> Done {
        let number = u32::try_from(self.by_idx.len()).map_err(|_| "too many applications")?;
        let idx = AppIdx(number);
        self.by_idx.push(submit.app.clone());
        let refused = self.enter(idx, submit).err();
        let managed = !submit.am.is_zero();
        let state = match (&refused, managed) {
            (Some(_), _) => "FAILED",
            (None, true) => "ACCEPTED",
            (None, false) => "RUNNING",
        };
        let app = App {
            idx,
            state,
            diagnostics: refused.unwrap_or_default(),
            granted: Vec::new(),
        };
        self.apps.insert(submit.app.clone(), app);
        Ok(())
    }

    /// Into the queue, and the attempt begins.
    fn enter(&mut self, idx: AppIdx, submit: &Submit) -> Done {
        let now = self.now;
        let am = if submit.am.is_zero() {
            None
        } else {
            Some(self.resource(&submit.am)?)
        };
        let submitted = Submitted {
            id: application_id(idx.0 + 1),
            queue: submit.queue.clone(),
            user: Arc::from(submit.user.as_str()),
            priority: submit.priority,
        };
        let sched = self.sched()?;
        if sched.queue(&submit.queue).is_none() && submit.queue.contains('.') {
            sched
                .create_queue(now, &submit.queue)
                .map_err(|refused| refused.message)?;
        }
        let label = submit.am_label.as_deref();
        let am = am
            .map(|size| sched.validate_am(&submit.queue, size, label))
            .transpose()
            .map_err(|refused| refused.message)?;
        sched
            .submit(idx, &submitted)
            .map_err(|refused| refused.message)?;
        sched.start_attempt(now, idx, am);
        Ok(())
    }

    fn raw(&self, at: (&str, i32, bool), priority: i32, size: &Res) -> Done<RawAsk> {
        let (place, count, relax) = at;
        Ok(RawAsk {
            priority,
            allocation_request_id: 0,
            place: Arc::from(place),
            capability: self.resource(size)?,
            count,
            relax_locality: relax,
            label: None,
            unknown_resource: None,
            opportunistic: false,
        })
    }

    pub(super) fn ask_once(&mut self, ask: &Ask) -> Done {
        let mut raw = self.raw((ANY, ask.count, true), ask.priority, &ask.size)?;
        raw.label = labelled(ask.label.as_deref());
        self.allocate(&ask.app, &[raw])
    }

    pub(super) fn ask_places(&mut self, asks: &AskList) -> Done {
        let raw: Done<Vec<RawAsk>> = asks
            .requests
            .iter()
            .map(|r| {
                let mut raw = self.raw((&r.at, r.count, r.relax), asks.priority, &asks.size)?;
                raw.label = labelled(asks.label.as_deref());
                Ok(raw)
            })
            .collect();
        self.allocate(&asks.app, &raw?)
    }

    fn allocate(&mut self, app: &str, raw: &[RawAsk]) -> Done {
        let (idx, now) = (self.app_idx(app)?, self.now);
        let sched = self.sched()?;
        let asks = sched
            .validate_asks(idx, raw)
            .map_err(|refused| refused.message)?;
        sched.update_asks(now, idx, &asks);
        Ok(())
    }

    /// The containers that end, newest first where that matters.
    pub(super) fn chosen(&mut self, complete: &Complete) -> Done<Vec<ContainerIdx>> {
        let idx = self.app_idx(&complete.app)?;
        let granted = self.known_app(&complete.app)?.granted.clone();
        let live = self
            .sched()?
            .app_figures(idx)
            .map(|figures| figures.containers)
            .unwrap_or_default();
        let tasks = || live.iter().filter(|c| !c.is_am).map(|c| c.idx);
        let mut chosen: Vec<ContainerIdx> = match complete.containers {
            Some(Which::Named(WhichName::All)) => live.iter().map(|c| c.idx).collect(),
            Some(Which::Named(WhichName::Tasks)) => tasks().collect(),
            Some(Which::Newest(count)) => {
                let newest: Vec<_> = tasks().collect();
                if newest.len() < count {
                    return Err(format!(
                        "{} has {} task containers, not {count}",
                        complete.app,
                        newest.len()
                    ));
                }
                newest.into_iter().rev().take(count).collect()
            }
            None => Vec::new(),
        };
        for number in &complete.ids {
            chosen.push(numbered(&granted, *number)?);
        }
        Ok(chosen)
    }

    pub(super) fn finish_app(&mut self, app: &str) -> Done {
        let idx = self.app_idx(app)?;
        let sched = self.sched()?;
        sched.end_attempt(idx);
        let live = sched.app_figures(idx).map(|figures| figures.containers);
        for container in live.unwrap_or_default() {
            sched.release(container.idx);
        }
        sched.remove_app(idx);
        if let Some(app) = self.apps.get_mut(app) {
            app.state = "FINISHED";
        }
        Ok(())
    }

    /// A node is lost with what ran on it.
    pub(super) fn lose_node(&mut self, node: &str) -> Done {
        let idx = self.node_idx(node)?;
        let apps: Vec<AppIdx> = self.apps.values().map(|app| app.idx).collect();
        let sched = self.sched()?;
        sched.set_usable(idx, false);
        for app in apps {
            let live = sched.app_figures(app).map(|figures| figures.containers);
            for container in live.unwrap_or_default() {
                if container.node == idx {
                    sched.release(container.idx);
                }
            }
        }
        sched.remove_node(idx);
        self.nodes.remove(node);
        Ok(())
    }

    pub(super) fn resize_container(&mut self, resize: &Resize) -> Done {
        let container = numbered(&self.known_app(&resize.app)?.granted, resize.container)?;
        let to = self.resource(&resize.to)?;
        let now = self.now;
        let sched = self.sched()?;
        let done = match resize.kind {
            ResizeKind::Increase => sched.increase(now, container, to),
            ResizeKind::Decrease => sched.decrease(container, to),
        };
        done.map_err(|refused| refused.message)
    }
}

/// Container number 1 is the first that was granted.
fn numbered(granted: &[ContainerIdx], number: u64) -> Done<ContainerIdx> {
    let at = number
        .checked_sub(1)
        .and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| granted.get(at).copied())
        .ok_or_else(|| format!("there is no container number {number}"))
}

/// The label of an ask where the case names one.
fn labelled(label: Option<&str>) -> Option<String> {
    label.map(|label| super::plain(Some(label)).to_owned())
}
