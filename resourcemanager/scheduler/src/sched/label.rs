//! Partitions of the nodes: names, exclusivity, totals; and amounts kept per partition.
//! May touch: its own table.
//! Must not: know which node has which label (`node.rs` does).

use std::sync::Arc;

use yarn_types::Resource;

use super::ids::LabelIdx;

/// Most partitions, the default one included.
pub const LABELS_MAX: usize = 255;

/// One partition.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Label {
    /// Empty for the default partition.
    pub name: Arc<str>,
    /// Whether applications that did not ask for it are kept out.
    pub exclusive: bool,
    /// The administrator added it to the cluster.
    pub known: bool,
    /// What its usable nodes add up to.
    pub offered: Offer,
}

/// What usable nodes add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Offer {
    /// Offered.
    pub total: Resource,
    /// Nodes.
    pub nodes: u32,
    /// Nodes that sent a list of devices.
    pub listed: u32,
    /// Free devices of those, in the GPU lane's amount.
    pub idle_gpus: i64,
}

impl Offer {
    pub fn add(&mut self, other: Self) {
        self.total = self.total.plus(other.total);
        self.nodes += other.nodes;
        self.listed += other.listed;
        self.idle_gpus = self.idle_gpus.saturating_add(other.idle_gpus);
    }

    pub fn take(&mut self, other: Self) {
        self.total = self.total.minus(other.total);
        self.nodes = self.nodes.saturating_sub(other.nodes);
        self.listed = self.listed.saturating_sub(other.listed);
        self.idle_gpus = self.idle_gpus.saturating_sub(other.idle_gpus);
    }
}

/// All partitions ever named; index 0 is the default one.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Labels {
    table: Vec<Label>,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            table: vec![Label {
                name: Arc::from(""),
                exclusive: true,
                known: true,
                offered: Offer::default(),
            }],
        }
    }
}

impl Labels {
    pub fn get(&self, label: LabelIdx) -> &Label {
        &self.table[label.at()]
    }

    pub fn get_mut(&mut self, label: LabelIdx) -> &mut Label {
        &mut self.table[label.at()]
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (LabelIdx, &Label)> {
        (0..=u8::MAX).map(LabelIdx).zip(&self.table)
    }

    pub fn find(&self, name: &str) -> Option<LabelIdx> {
        self.iter().find(|(_, l)| &*l.name == name).map(|(i, _)| i)
    }

    /// The index of `name`, made when new; `None` when there are too many.
    pub fn intern(&mut self, name: &str) -> Option<LabelIdx> {
        if let Some(found) = self.find(name) {
            return Some(found);
        }
        let idx = u8::try_from(self.table.len())
            .ok()
            .filter(|_| self.table.len() < LABELS_MAX)?;
        self.table.push(Label {
            name: Arc::from(name),
            exclusive: true,
            known: false,
            offered: Offer::default(),
        });
        Some(LabelIdx(idx))
    }

    /// Offered by the usable nodes of `label`.
    pub fn total(&self, label: LabelIdx) -> Resource {
        self.get(label).offered.total
    }

    /// Offered by all usable nodes.
    pub fn cluster(&self) -> Resource {
        self.table
            .iter()
            .fold(Resource::ZERO, |sum, l| sum.plus(l.offered.total))
    }
}

/// Amounts by partition; what was never touched is zero.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct PerLabel(Vec<Resource>);

impl PerLabel {
    pub fn get(&self, label: LabelIdx) -> Resource {
        self.0.get(label.at()).copied().unwrap_or(Resource::ZERO)
    }

    fn slot(&mut self, label: LabelIdx) -> &mut Resource {
        if self.0.len() <= label.at() {
            self.0.resize(label.at() + 1, Resource::ZERO);
        }
        &mut self.0[label.at()]
    }

    pub fn add(&mut self, label: LabelIdx, r: Resource) {
        let slot = self.slot(label);
        *slot = slot.plus(r);
    }

    pub fn take(&mut self, label: LabelIdx, r: Resource) {
        let slot = self.slot(label);
        *slot = slot.minus(r);
    }

    /// Over all partitions.
    pub fn sum(&self) -> Resource {
        self.0.iter().fold(Resource::ZERO, |sum, r| sum.plus(*r))
    }

    /// Partitions that hold something.
    pub fn labels(&self) -> impl Iterator<Item = LabelIdx> {
        (0..=u8::MAX)
            .map(LabelIdx)
            .zip(&self.0)
            .filter(|(_, r)| !r.is_zero())
            .map(|(label, _)| label)
    }
}

impl PartialEq for PerLabel {
    fn eq(&self, other: &Self) -> bool {
        let len = self.0.len().max(other.0.len());
        (0..=u8::MAX)
            .map(LabelIdx)
            .take(len)
            .all(|l| self.get(l) == other.get(l))
    }
}
