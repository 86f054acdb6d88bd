//! Ask classes: the sizes asked for in each partition, and which of them fit on no node now.
//! May touch: its own table.
//! Must not: hold more than its limit.

use std::collections::BTreeMap;

use yarn_types::{Resource, limits::ASK_CLASSES_MAX};

use super::super::ids::LabelIdx;
use crate::num::Calculator;

/// Bits that classes share.
const BITS: usize = 63;
/// The kind of asks that must be tried whatever is known of their class.
pub(super) const ALWAYS: u64 = 1 << BITS;

/// A size in a partition.
#[derive(Clone, Copy, Debug)]
struct Class {
    size: Resource,
    label: LabelIdx,
    /// No node has room for it.
    asleep: bool,
}

/// All classes.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    all: Vec<Class>,
    by_size: BTreeMap<(LabelIdx, Resource), u16>,
    asleep: Vec<u16>,
    /// Classes that are awake, by bit.
    awake: Vec<u16>,
    kinds: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            by_size: BTreeMap::new(),
            asleep: Vec::new(),
            awake: vec![0; BITS],
            kinds: ALWAYS,
        }
    }
}

impl Classes {
    /// Kinds of asks that are worth a try.
    pub fn kinds(&self) -> u64 {
        self.kinds
    }

    /// The bit of a class.
    pub fn bit(class: u16) -> u64 {
        1 << (usize::from(class) % BITS)
    }

    /// The class of a size, made when new; `None` when there are too many.
    pub fn intern(&mut self, label: LabelIdx, size: Resource) -> Option<u16> {
        if let Some(class) = self.by_size.get(&(label, size)) {
            return Some(*class);
        }
        let class = u16::try_from(self.all.len()).ok()?;
        if self.all.len() >= ASK_CLASSES_MAX {
            return None;
        }
        self.all.push(Class {
            size,
            label,
            asleep: false,
        });
        self.by_size.insert((label, size), class);
        self.count(class, true);
        Some(class)
    }

    /// The table is full of classes, some of which nobody may want any more.
    pub fn is_full(&self) -> bool {
        self.all.len() >= ASK_CLASSES_MAX
    }

    /// Some ask of `label` may be of a size that `fits`: a class's, or one beyond the classes.
    pub fn any_of(&self, label: LabelIdx, fits: impl Fn(Resource) -> bool) -> bool {
        let mut of_label = self.all.iter().filter(|c| c.label == label);
        self.is_full() || of_label.any(|c| fits(c.size))
    }

    /// The nodes were laid out anew: some may have room again.
    pub fn wake_all(&mut self) {
        while let Some(class) = self.asleep.pop() {
            self.all[usize::from(class)].asleep = false;
            self.count(class, true);
        }
    }

    pub fn is_asleep(&self, class: u16) -> bool {
        self.all.get(usize::from(class)).is_some_and(|c| c.asleep)
    }

    /// No node has room for the class, until one gets it.
    pub fn sleep(&mut self, class: u16) {
        if let Some(c) = self.all.get_mut(usize::from(class)).filter(|c| !c.asleep) {
            c.asleep = true;
            self.asleep.push(class);
            self.count(class, false);
        }
    }

    /// A node of `label` has more room than before.
    pub fn room(&mut self, calculator: Calculator, label: LabelIdx, free: Resource) {
        let mut at = 0;
        while let Some(class) = self.asleep.get(at).copied() {
            let c = &mut self.all[usize::from(class)];
            if c.label == label && calculator.fits(c.size, free) {
                c.asleep = false;
                self.asleep.swap_remove(at);
                self.count(class, true);
            } else {
                at += 1;
            }
        }
    }

    fn count(&mut self, class: u16, up: bool) {
        let awake = &mut self.awake[usize::from(class) % BITS];
        *awake = if up {
            *awake + 1
        } else {
            awake.saturating_sub(1)
        };
        if *awake > 0 {
            self.kinds |= Self::bit(class);
        } else {
            self.kinds &= !Self::bit(class);
        }
    }
}
