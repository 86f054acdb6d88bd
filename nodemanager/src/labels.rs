//! The node's own label: asked of the configuration or a script, and what the ResourceManager made of it.
//! May touch: the script's process, the configuration files, the inbox, time.
//! Must not: decide when it is told (the core does).

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use nm_core::{Event, labels::SaidLabels};
use tokio::time::MissedTickBehavior;
use yarn_conf::Configuration;
use yarn_proto::{
    server::{NodeHeartbeatResponseProto, NodeLabelsProto, RegisterNodeManagerResponseProto},
    yarn::NodeLabelProto,
};

use crate::{
    driver::Inbox,
    script::{self, Ran},
    settings::{LabelSettings, LabelSource},
};

/// `ScriptBasedNodeLabelsProvider.NODE_LABEL_PARTITION_PATTERN`.
const MARK: &str = "NODE_PARTITION:";
const CONFIGURED: &str = "yarn.nodemanager.node-labels.provider.configured-node-partition";

/// Reads the configuration again.
pub type Reread = Arc<dyn Fn() -> Result<Configuration, String> + Send + Sync>;

/// Who says the label.
pub struct Provider {
    settings: LabelSettings,
    reread: Reread,
}

impl Provider {
    /// A provider that can work.
    ///
    /// # Errors
    /// Hadoop's text for a script that cannot be run
    /// (`AbstractNodeDescriptorsProvider.verifyConfiguredScript`).
    pub fn new(settings: LabelSettings, reread: Reread) -> Result<Self, String> {
        if let LabelSource::Script { path, .. } = &settings.source
            && !can_run(path)
        {
            return Err(format!(
                "Node descriptors provider script \"{}\" is not configured properly. Please check \
                 whether the script path exists, owner and the access rights are suitable for NM \
                 process to execute it",
                path.display()
            ));
        }
        Ok(Self { settings, reread })
    }

    /// One look; `None` where it failed, which changes nothing.
    async fn look(&self) -> Option<Event> {
        let found = match &self.settings.source {
            LabelSource::Config => {
                let reread = Arc::clone(&self.reread);
                let conf = tokio::task::spawn_blocking(move || reread()).await.ok()?;
                let read = conf.and_then(|c| c.get_trimmed(CONFIGURED).map_err(|e| e.to_string()));
                read.map(Option::unwrap_or_default)
            }
            LabelSource::Script {
                path,
                opts,
                timeout_ms,
            } => match script::run(path, opts, *timeout_ms).await {
                Ok(Ran::Said(text)) => Ok(partition(&text)),
                Ok(Ran::TimedOut) => Err("the script took too long".to_owned()),
                Ok(Ran::Failed { code, signal }) => Err(format!(
                    "the script failed: code {code:?}, signal {signal:?}"
                )),
                Err(e) => Err(format!("{}: {e}", path.display())),
            },
        };
        let label = found.and_then(|label| judged(&label).map(|()| label));
        match label {
            Ok(label) => {
                let label = Some(label).filter(|l| !l.is_empty());
                Some(Event::LabelFound {
                    label: label.map(Into::into),
                })
            }
            Err(text) => {
                tracing::error!("node label stays as it was: {text}");
                None
            }
        }
    }

    /// Looks once, and goes on in the background where an interval is set.
    pub async fn start(self, inbox: &Inbox) {
        if let Some(event) = self.look().await {
            inbox.event(event);
        }
        if let Some(interval_ms) = self.settings.interval_ms {
            tokio::spawn(self.watch(inbox.clone(), Duration::from_millis(interval_ms)));
        }
    }

    async fn watch(self, inbox: Inbox, interval: Duration) {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(event) = self.look().await {
                inbox.event(event);
            }
        }
    }
}

fn can_run(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The last word that the script has on the partition; empty for none.
fn partition(text: &str) -> String {
    let mut lines = text.lines().rev();
    let said = lines.find_map(|l| l.trim().strip_prefix(MARK));
    said.unwrap_or_default().trim().to_owned()
}

/// `NodeLabelUtil.checkAndThrowLabelName`, but for the empty one, which is none.
fn judged(label: &str) -> Result<(), String> {
    if label.encode_utf16().count() > 255 {
        return Err("label added is empty or exceeds 255 character(s)".to_owned());
    }
    let word = |b: u8| b.is_ascii_alphanumeric();
    let inner = |b: u8| word(b) || b == b'-' || b == b'_';
    if label.bytes().all(inner) && label.bytes().next().is_none_or(word) {
        return Ok(());
    }
    Err(format!(
        "label name should only contains {{0-9, a-z, A-Z, -, _}} and should not started with {{-,_}}, now it is= {label}"
    ))
}

/// The label as it goes over the wire.
pub fn said_proto(said: &SaidLabels) -> NodeLabelsProto {
    let label = |name: &Arc<str>| NodeLabelProto {
        name: Some(name.to_string()),
        is_exclusive: Some(true),
    };
    NodeLabelsProto {
        node_labels: said.iter().map(label).collect(),
    }
}

/// Says in the log what became of the label in a registration.
pub fn on_registered(said: &SaidLabels, answer: &RegisterNodeManagerResponseProto) {
    let labels = said.join(",");
    if answer.are_node_labels_accepted_by_rm() {
        tracing::info!("registered with following Node label(s) : {{{labels}}}");
        return;
    }
    let why = match &answer.diagnostics_message {
        None => "Seems like RM is configured with Centralized Labels.".to_owned(),
        Some(text) => format!("And with message {text}"),
    };
    tracing::error!("NodeLabels sent from NM while registration were rejected by RM. {why}");
}

/// The same for a heartbeat.
pub fn on_answered(said: &SaidLabels, answer: &NodeHeartbeatResponseProto) {
    let labels = said.join(",");
    if answer.are_node_labels_accepted_by_rm() {
        tracing::debug!("Node Labels {{{labels}}} were Accepted by RM");
    } else {
        let text = answer.diagnostics_message();
        tracing::error!(
            "NM node labels {{{labels}}} were not accepted by RM and message from RM : {text}"
        );
    }
}

#[cfg(test)]
#[path = "labels_test.rs"]
mod tests;
