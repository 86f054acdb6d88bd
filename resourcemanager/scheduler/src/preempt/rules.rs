//! How amounts are compared while preempting: Hadoop's calculators, bound to the lanes.
//! May touch: the calculator and the resource types.
//! Must not: know queues or containers.

use std::cmp::Ordering;

use yarn_types::{Resource, ResourceTypes};

use crate::num::Calculator;

/// How amounts are compared, and what counts as a victim.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// `yarn.scheduler.capacity.resource-calculator`.
    pub calculator: Calculator,
    /// The lanes.
    pub types: &'a ResourceTypes,
    /// Where GPUs alone are short, only containers with GPUs are taken, and a type that nobody
    /// wants never stops the choice. Off: Hadoop to the letter.
    pub spare_cpu_only: bool,
}

impl Rules<'_> {
    fn order(&self, a: Resource, b: Resource, of: Resource) -> Ordering {
        self.calculator.order(a, b, of, self.types)
    }

    /// `a` is more than `b` as shares of `of`.
    pub(super) fn more(&self, a: Resource, b: Resource, of: Resource) -> bool {
        self.order(a, b, of).is_gt()
    }

    /// `a` is less than `b` as shares of `of`.
    pub(super) fn less(&self, a: Resource, b: Resource, of: Resource) -> bool {
        self.order(a, b, of).is_lt()
    }

    /// `r` is more than nothing as a share of `of`.
    pub(super) fn some(&self, r: Resource, of: Resource) -> bool {
        self.more(r, Resource::ZERO, of)
    }

    /// The smaller of two, the first when equal (`Resources.min`).
    pub(super) fn min(&self, a: Resource, b: Resource, of: Resource) -> Resource {
        if self.order(a, b, of).is_le() { a } else { b }
    }

    /// The larger of two, the first when equal (`Resources.max`).
    pub(super) fn max(&self, a: Resource, b: Resource, of: Resource) -> Resource {
        if self.order(a, b, of).is_ge() { a } else { b }
    }

    /// Every lane that counts fits.
    pub(super) fn fits(&self, ask: Resource, room: Resource) -> bool {
        self.calculator.fits(ask, room)
    }

    /// The lane of GPUs, where victims without GPUs are to be spared.
    pub(super) fn gpu_lane(&self) -> Option<usize> {
        let dominant = self.calculator == Calculator::Dominant;
        self.types
            .gpu_lane()
            .filter(|_| self.spare_cpu_only && dominant)
    }
}
