//! Why an application's asks are not placed, worked out when somebody asks.
//! May touch: the state, read only.
//! Must not: be used in a decision.

use super::{Sched, ids::AppIdx};

impl Sched {
    /// Why an application's asks are not placed, one line each.
    pub fn why(&self, app: AppIdx) -> Vec<String> {
        let Some(a) = self.app(app) else {
            return Vec::new();
        };
        let types = &self.conf.types;
        let am = self.why_waiting(app).map(|why| {
            format!(
                "ApplicationMaster {}: {}",
                types.show(a.am.size),
                why.show(types)
            )
        });
        am.into_iter().collect()
    }
}
