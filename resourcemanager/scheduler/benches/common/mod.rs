//! What the scheduler's benches share: a cluster of GPU nodes, its queues and applications, medians,
//! and an allocator that counts.
//! May touch: the scheduler's public face; the clock of its own thread.
//! Must not: look into its tables.
#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(
    unsafe_code,
    reason = "an allocator that counts and a thread's clock can only be had so"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeMap,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
};

use capacity_scheduler::{
    conf::{PREFIX, SchedConf},
    num::Calculator,
    sched::{ANY, AppIdx, Ask, AskKey, ContainerIdx, LabelIdx, NodeIdx, Sched, Submitted, Told},
};
use yarn_types::{ApplicationId, GPU, MILLI, Millis, Resource, ResourceType, ResourceTypes};

/// Heap allocations since the start.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Bytes that are allocated now.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
pub struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator needs
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: `at` came from `alloc` above with this layout
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: `at` came from `alloc` above with this layout
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Heap allocations while `f` runs.
pub fn allocations(f: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    f();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Bytes that are allocated now.
pub fn bytes() -> f64 {
    BYTES.load(Ordering::Relaxed) as f64
}

/// GPUs of a node.
pub const GPUS: i64 = 8;

fn types() -> ResourceTypes {
    let mut list: Vec<_> = ResourceTypes::memory_and_vcores().iter().cloned().collect();
    list.push(ResourceType {
        name: GPU.to_owned(),
        units: String::new(),
        minimum_allocation: 0,
        maximum_allocation: 1 << 20,
    });
    for t in &mut list {
        t.minimum_allocation = i64::from(t.name != GPU);
        t.maximum_allocation = 1 << 30;
    }
    ResourceTypes::new(list).unwrap()
}

/// `queues` equal leaves below the root; with `skewed` the first has a larger share.
pub fn conf(queues: usize, skewed: bool) -> SchedConf {
    let names: Vec<String> = (0..queues).map(|q| format!("q{q}")).collect();
    let mut keys: Vec<(String, String)> = vec![
        ("root.queues".into(), names.join(",")),
        ("maximum-am-resource-percent".into(), "1".into()),
        ("heddle.pacing".into(), "event".into()),
    ];
    for (at, name) in names.iter().enumerate() {
        let weight = if skewed && at == 0 { 3 } else { 1 };
        keys.push((format!("root.{name}.capacity"), format!("{weight}w")));
        keys.push((format!("root.{name}.user-limit-factor"), "100".into()));
    }
    let mut table: BTreeMap<String, String> = keys
        .into_iter()
        .map(|(k, v)| (format!("{PREFIX}{k}"), v))
        .collect();
    table.insert(
        "yarn.resourcemanager.scheduler.monitor.enable".into(),
        "true".into(),
    );
    let preemption = "yarn.resourcemanager.monitor.capacity.preemption.";
    table.insert(format!("{preemption}max_wait_before_kill"), "0".into());
    SchedConf::from_lookup(&table, types(), Calculator::Dominant).unwrap()
}

/// Memory in GiB, vcores and whole GPUs.
pub fn gib(memory: i64, vcores: i64, gpus: i64) -> Resource {
    Resource::new(memory * 1024, vcores).with(2, gpus * MILLI)
}

/// A cluster of `nodes` × 8 GPUs with `queues` leaves and `apps` applications in turn.
pub struct Cluster {
    pub sched: Sched,
    pub now: Millis,
    pub apps: u32,
    pub nodes: u32,
    told: Vec<Told>,
}

impl Cluster {
    pub fn new(nodes: u32, queues: usize, apps: u32) -> Self {
        let mut cluster = Self {
            sched: Sched::new(conf(queues, false)),
            now: Millis(1000),
            apps: 0,
            nodes: 0,
            told: Vec::new(),
        };
        cluster.add_nodes(nodes);
        for app in 0..apps {
            cluster.submit(app as usize % queues);
        }
        cluster
    }

    /// More nodes, all at once.
    pub fn add_nodes(&mut self, nodes: u32) {
        let total = gib(1024, 128, GPUS);
        let mut rack: Arc<str> = Arc::from("/rack");
        let all = (self.nodes..self.nodes + nodes).map(|n| {
            if n.is_multiple_of(40) {
                rack = Arc::from(format!("/rack{}", n / 40));
            }
            let host: Arc<str> = Arc::from(format!("host{n:05}"));
            let rack = Arc::clone(&rack);
            (NodeIdx(n), host, rack, total, LabelIdx::DEFAULT)
        });
        self.sched.add_nodes(all);
        self.nodes += nodes;
    }

    /// One more application in leaf `queue`; its ApplicationMaster is unmanaged.
    pub fn submit(&mut self, queue: usize) -> AppIdx {
        let app = AppIdx(self.apps);
        self.apps += 1;
        let submitted = Submitted {
            id: ApplicationId {
                cluster_timestamp: 1,
                id: self.apps,
            },
            queue: format!("root.q{queue}"),
            user: Arc::from(format!("user{}", self.apps % 7)),
            priority: None,
        };
        self.sched.submit(app, &submitted).unwrap();
        self.sched.start_attempt(self.now, app, None);
        app
    }

    pub fn ask(&mut self, app: AppIdx, size: Resource, count: i32) {
        let ask = Ask {
            key: AskKey {
                priority: 1,
                request_id: 0,
                update: None,
            },
            place: Arc::from(ANY),
            size,
            count,
            relax: true,
            label: LabelIdx::DEFAULT,
        };
        self.sched.update_asks(self.now, app, &[ask]);
    }

    /// Time goes on.
    pub fn later(&mut self, ms: u64) {
        self.now = self.now.plus(ms);
    }

    /// Passes until nothing is left to do; containers granted.
    pub fn pass(&mut self) -> &[Told] {
        self.told.clear();
        while self.sched.pass(self.now) {}
        self.sched.drain_told(&mut self.told);
        &self.told
    }

    /// [`Self::pass`], with nothing kept here.
    pub fn take(&mut self) -> Vec<Told> {
        while self.sched.pass(self.now) {}
        self.sched.take_told()
    }

    /// The only grant of a pass.
    pub fn granted(&mut self) -> Option<ContainerIdx> {
        match self.pass() {
            [Told::Granted(granted)] => Some(granted.container),
            _ => None,
        }
    }

    /// Containers of one GPU each on `gpus` of them, in the name of all applications.
    pub fn fill(&mut self, gpus: u64) -> Vec<ContainerIdx> {
        let apps = u64::from(self.apps);
        for app in 0..self.apps {
            let each = gpus / apps + u64::from(u64::from(app) < gpus % apps);
            self.ask(AppIdx(app), gib(8, 1, 1), i32::try_from(each).unwrap());
        }
        let mut all = Vec::new();
        for told in self.pass() {
            if let Told::Granted(granted) = told {
                all.push(granted.container);
            }
        }
        for app in 0..self.apps {
            self.ask(AppIdx(app), gib(8, 1, 1), 0);
        }
        all
    }
}

/// Seconds that this thread ran on a processor, so that what else runs on the machine counts little.
pub fn ran_s() -> f64 {
    let mut at = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `at`, which outlives it
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut at) };
    assert_eq!(answer, 0);
    at.tv_sec as f64 + at.tv_nsec as f64 / 1e9
}

/// Seconds of processor time that `f` takes.
pub fn took_s(f: impl FnOnce()) -> f64 {
    let before = ran_s();
    f();
    ran_s() - before
}

/// The median of `runs` times of processor, in microseconds; each is that of `calls` calls, divided
/// by them, as reading the clock takes longer than many a call.
pub fn median_us(runs: usize, calls: u32, mut f: impl FnMut()) -> f64 {
    let once = |()| {
        let took = took_s(|| (0..calls).for_each(|_| f()));
        took * 1e6 / f64::from(calls)
    };
    let mut times: Vec<f64> = std::iter::repeat_n((), runs).map(once).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
