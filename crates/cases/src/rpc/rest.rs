//! The web services of the ResourceManager, for what RPC does not say.
//! May touch: its HTTP port, a folder for answers.
//! Must not: change anything.

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{Remote, text};
use crate::target::Done;

/// Longest wait for empty event queues of the stock ResourceManager.
const QUIET_S: u64 = 20;
const QUIET_POLL: Duration = Duration::from_millis(8);
/// Looks in a row at which the queues must be empty: an event in work is in none of them.
const QUIET_LOOKS: u32 = 8;
/// Age of what our web pages may show.
const VIEW: Duration = Duration::from_millis(40);

/// What is kept of a case.
const KEPT: [&str; 4] = ["scheduler", "apps", "nodes", "metrics"];

impl Remote {
    /// Writes what the web services answer now to `folder`; nothing where the start was refused.
    ///
    /// # Errors
    /// No answer, or no room for it.
    pub fn keep_answers(&mut self, folder: &Path) -> Done {
        if self.cluster.is_none() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(text)?;
        for name in KEPT {
            let answer = self.get(&format!("/{name}"))?;
            let file = folder.join(format!("{name}.json"));
            fs::write(file, format!("{answer:#}\n")).map_err(text)?;
        }
        Ok(())
    }

    /// A resource below `/ws/v1/cluster`.
    pub(super) fn get(&mut self, path: &str) -> Done<Value> {
        let runtime = self.runtime.handle().clone();
        let cluster = self.cluster()?;
        let url = format!("http://{}/ws/v1/cluster{path}", cluster.rm.at("rm.http")?);
        let request = cluster.http.get(&url).header("Accept", "application/json");
        let answer = runtime.block_on(async {
            let answer = request.send().await.map_err(text)?;
            let body = answer.text().await.map_err(text)?;
            // the stock web services write what is no JSON for shares of nothing
            let body = body.replace(":NaN", ":null").replace(":Infinity", ":null");
            serde_json::from_str(&body).map_err(|e| format!("{e}: {}", shortened(&body)))
        });
        answer.map_err(|e| format!("{url}: {e}"))
    }

    /// Waits until everything that was sent has had its effect: the stock ResourceManager works on
    /// events later, ours has done what it answers.
    pub(super) fn quiet(&mut self) -> Done {
        self.tree = None;
        if !self.cluster()?.rm.stock {
            return Ok(());
        }
        let deadline = Instant::now() + Duration::from_secs(QUIET_S);
        let mut empty = 0;
        while empty < QUIET_LOOKS {
            let metrics = self.get("/metrics")?;
            let size = |name: &str| metrics["clusterMetrics"][name].as_i64().unwrap_or(0);
            let waiting = size("rmEventQueueSize") + size("schedulerEventQueueSize");
            empty = if waiting == 0 { empty + 1 } else { 0 };
            if Instant::now() > deadline {
                return Err(format!("{waiting} events wait for {QUIET_S} s"));
            }
            sleep(QUIET_POLL);
        }
        Ok(())
    }

    /// The tree of queues as it is now.
    pub(super) fn tree(&mut self) -> Done<&Value> {
        if self.tree.is_none() {
            if !self.cluster()?.rm.stock {
                sleep(VIEW);
            }
            let answer = self.get("/scheduler")?;
            self.tree = Some(answer["scheduler"]["schedulerInfo"].clone());
        }
        self.tree
            .as_ref()
            .ok_or_else(|| "no tree of queues".to_owned())
    }

    /// A queue by its full path.
    pub(super) fn queue_json(&mut self, path: &str) -> Done<Option<Value>> {
        let tree = self.tree()?;
        Ok(find(tree, path).cloned())
    }
}

fn shortened(body: &str) -> String {
    body.chars().take(400).collect()
}

fn find<'a>(queue: &'a Value, path: &str) -> Option<&'a Value> {
    if queue["queuePath"].as_str().unwrap_or("root") == path {
        return Some(queue);
    }
    let children = queue["queues"]["queue"].as_array()?;
    children.iter().find_map(|child| find(child, path))
}
