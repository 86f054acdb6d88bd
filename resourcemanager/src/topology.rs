//! Racks of nodes: Hadoop's script or table, asked off the driver, remembered by host.
//! May touch: the topology script and table, name lookups.
//! Must not: block a connection, or fail a registration (an unknown rack is the default one).

use std::{
    collections::HashMap,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{net::lookup_host, process::Command, time::timeout};

use crate::settings::RackMapping;

/// `NetworkTopology.DEFAULT_RACK`.
pub const DEFAULT_RACK: &str = "/default-rack";

/// Longest time for a script or a name lookup; then the default rack is taken.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The mapping with what it answered.
pub struct Topology {
    mapping: RackMapping,
    known: Mutex<HashMap<Arc<str>, Arc<str>>>,
}

impl Topology {
    /// Nothing is asked before the first node.
    pub fn new(mapping: RackMapping) -> Self {
        Self {
            mapping,
            known: Mutex::new(HashMap::new()),
        }
    }

    /// Rack of `host`, as it registered.
    pub async fn rack(&self, host: &Arc<str>) -> Arc<str> {
        if self.mapping == RackMapping::None {
            return DEFAULT_RACK.into();
        }
        if let Some(rack) = self.known().get(host).cloned() {
            return rack;
        }
        let Some(rack) = self.ask(host).await else {
            return DEFAULT_RACK.into();
        };
        self.known().insert(Arc::clone(host), Arc::clone(&rack));
        rack
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, host: &str) -> Option<Arc<str>> {
        let address = address(host).await;
        let answer = match &self.mapping {
            RackMapping::None => None,
            RackMapping::Script(script) => run(script, &address).await,
            RackMapping::Table(table) => look_up(table, &[&address, host]).await,
        };
        let answer = answer.filter(|rack| rack.starts_with('/'));
        if answer.is_none() {
            tracing::warn!(
                host,
                "no rack from the topology mapping, {DEFAULT_RACK} is taken"
            );
        }
        answer.map(Into::into)
    }
}

/// Hadoop hands addresses to the mapping; a name that does not resolve is handed on as it is.
async fn address(host: &str) -> String {
    let looked_up = timeout(ANSWER_TIMEOUT, lookup_host((host, 0))).await;
    let first = looked_up
        .ok()
        .and_then(Result::ok)
        .and_then(|mut all| all.next());
    first.map_or_else(|| host.to_owned(), |addr| addr.ip().to_string())
}

async fn run(script: &Path, address: &str) -> Option<String> {
    let command = Command::new(script)
        .arg(address)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match timeout(ANSWER_TIMEOUT, command).await {
        Ok(Ok(output)) if output.status.success() => output,
        Ok(Ok(output)) => {
            tracing::warn!(script = %script.display(), status = %output.status, "topology script failed");
            return None;
        }
        Ok(Err(e)) => {
            tracing::warn!(script = %script.display(), error = %e, "topology script cannot be run");
            return None;
        }
        Err(_) => {
            tracing::warn!(script = %script.display(), "topology script took too long");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().next().map(str::to_owned)
}

async fn look_up(table: &Path, names: &[&str]) -> Option<String> {
    let text = match tokio::fs::read_to_string(table).await {
        Ok(text) => text,
        Err(e) => {
            tracing::warn!(table = %table.display(), error = %e, "topology table cannot be read");
            return None;
        }
    };
    rack_in_table(&text, names)
}

/// Lines of two words, `#` begins a comment line (`TableMapping`).
fn rack_in_table(text: &str, names: &[&str]) -> Option<String> {
    let rows = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find_map(|row| match row.as_slice() {
        [name, rack] if names.contains(name) => Some((*rack).to_owned()),
        _ => None,
    })
}

#[cfg(test)]
#[path = "topology_test.rs"]
mod tests;
