//! What the scheduler's benches share: a cluster of GPU nodes, its queues and applications, medians,
//! and an allocator that counts.
//! May touch: the scheduler's public face; the clock.
//! Must not: look into its tables.
#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(
    unsafe_code,
    reason = "an allocator that counts can only be written so"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeMap,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use capacity_scheduler::{
    conf::{PREFIX, SchedConf},
    num::Calculator,
    sched::{ANY, AppIdx, Ask, AskKey, ContainerIdx, LabelIdx, NodeIdx, Sched, Submitted, Told},
};
use yarn_types::{ApplicationId, GPU, MILLI, Millis, Resource, ResourceType, ResourceTypes};

/// Heap allocations since the start.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
pub struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator needs
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `alloc` above with this layout
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
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
        let mut sched = Sched::new(conf(queues, false));
        let racks: Vec<Arc<str>> = (0..nodes.div_ceil(40))
            .map(|r| Arc::from(format!("/rack{r}")))
            .collect();
        sched.add_nodes((0..nodes).map(|n| {
            let host: Arc<str> = Arc::from(format!("host{n:05}"));
            let rack = Arc::clone(&racks[(n / 40) as usize]);
            (
                NodeIdx(n),
                host,
                rack,
                gib(1024, 128, GPUS),
                LabelIdx::DEFAULT,
            )
        }));
        let mut cluster = Self {
            sched,
            now: Millis(1000),
            apps: 0,
            nodes,
            told: Vec::new(),
        };
        for app in 0..apps {
            cluster.submit(app as usize % queues);
        }
        cluster
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

    /// The only grant of a pass.
    pub fn granted(&mut self) -> Option<ContainerIdx> {
        match self.pass() {
            [Told::Granted(granted)] => Some(granted.container),
            _ => None,
        }
    }

    /// Fills every GPU of the cluster with containers of one, in the name of all applications.
    pub fn fill(&mut self, gpus: u64) -> Vec<ContainerIdx> {
        let each = i32::try_from(gpus.div_ceil(u64::from(self.apps))).unwrap();
        for app in 0..self.apps {
            self.ask(AppIdx(app), gib(8, 1, 1), each);
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

/// The median time of `runs` calls.
pub fn median(runs: usize, mut f: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Milliseconds that this thread ran on a processor, so that what else runs on the machine does not
/// count.
pub fn cpu_ms() -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    ran.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}

/// Microseconds with two places.
pub fn us(d: Duration) -> f64 {
    d.as_secs_f64() * 1e6
}
