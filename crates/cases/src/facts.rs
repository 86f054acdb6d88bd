//! The keys under `expect`, what may stand under each, and which can be read in process only.
//! May touch: text of case files.
//! Must not: read the scheduler.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use crate::value::{Expected, Res};

/// What kind of value a key has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A resource.
    Res,
    /// A number.
    Num,
    /// A whole number, `{min}` or `{max}`.
    Count,
    /// `true` or `false`.
    Flag,
    /// Text.
    Text,
    /// Text or `null`.
    TextOrNull,
    /// A list of texts.
    List,
    /// Counts by name.
    Counts,
    /// Resources by name.
    Resources,
}

impl Shape {
    fn fits(self, value: &Expected) -> bool {
        let whole = |v: &Expected| matches!(v, Expected::Int(_));
        let count = |v: &Expected| match v {
            Expected::Int(_) => true,
            Expected::Map(m) => {
                !m.is_empty()
                    && m.iter()
                        .all(|(k, v)| (k == "min" || k == "max") && whole(v))
            }
            _ => false,
        };
        let res = |v: &Expected| match v {
            Expected::Int(_) => true,
            Expected::Map(m) => !m.is_empty() && m.values().all(whole),
            _ => false,
        };
        let each = |f: &dyn Fn(&Expected) -> bool| match value {
            Expected::Map(m) => m.values().all(f),
            _ => false,
        };
        match self {
            Self::Res => res(value),
            Self::Num => matches!(value, Expected::Int(_) | Expected::Num(_)),
            Self::Count => count(value),
            Self::Flag => matches!(value, Expected::Flag(_)),
            Self::Text => matches!(value, Expected::Text(_)),
            Self::TextOrNull => matches!(value, Expected::Text(_) | Expected::Null),
            Self::List => matches!(value, Expected::List(_)),
            Self::Counts => each(&count),
            Self::Resources => each(&res),
        }
    }
}

/// A set of keys.
pub trait Key: Copy + Eq + fmt::Debug + 'static {
    /// Every key: name in case files, shape of its value, whether it is read in process only.
    const TABLE: &'static [(Self, &'static str, Shape, bool)];

    /// Its row.
    fn row(self) -> (&'static str, Shape, bool) {
        let found = Self::TABLE.iter().find(|(key, ..)| *key == self);
        found.map_or(("", Shape::Text, true), |&(_, name, shape, inproc)| {
            (name, shape, inproc)
        })
    }

    /// The key of a name.
    fn parse(name: &str) -> Option<Self> {
        let found = Self::TABLE.iter().find(|(_, text, ..)| *text == name);
        found.map(|(key, ..)| *key)
    }
}

macro_rules! keys {
    ($(#[$doc:meta])* $name:ident { $($key:ident $text:literal $shape:ident $inproc:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "each key is the fact of its name")]
        pub enum $name { $($key,)* }

        impl Key for $name {
            const TABLE: &'static [(Self, &'static str, Shape, bool)] =
                &[$((Self::$key, $text, Shape::$shape, $inproc),)*];
        }
    };
}

keys! {
    /// Facts of a queue.
    QueueKey {
        Used "used" Res false;
        Reserved "reserved" Res false;
        Allocated "allocated" Res false;
        Pending "pending" Res false;
        PendingWithinUserLimit "pending_within_user_limit" Res true;
        PendingWithinUserLimitLessReserved "pending_within_user_limit_less_reserved" Res true;
        Capacity "capacity" Num false;
        AbsCapacity "abs_capacity" Num false;
        MaxCapacity "max_capacity" Num false;
        AbsMaxCapacity "abs_max_capacity" Num false;
        UsedCapacity "used_capacity" Num false;
        AbsUsedCapacity "abs_used_capacity" Num false;
        EffMin "eff_min" Res false;
        EffMax "eff_max" Res false;
        ConfiguredMin "configured_min" Res false;
        ConfiguredMax "configured_max" Res false;
        AmLimit "am_limit" Res false;
        UserAmLimit "user_am_limit" Res true;
        MaxApps "max_apps" Count false;
        MaxAppsPerUser "max_apps_per_user" Count false;
        ActiveApps "active_apps" Count false;
        PendingApps "pending_apps" Count false;
        RunnableApps "runnable_apps" Count true;
        ActiveUsers "active_users" Count true;
        ActiveUsersOnlyPending "active_users_only_pending" Count true;
        Deletable "deletable" Flag true;
        Apps "apps" Count false;
        Containers "containers" Count false;
        State "state" Text false;
        Kind "kind" Text false;
        Exists "exists" Flag false;
        Dynamic "dynamic" Flag false;
        Children "children" List false;
        ChildrenCount "children_count" Count false;
        Labels "labels" List false;
        CapacityLabels "capacity_labels" List true;
        Weight "weight" Num false;
        NormalizedWeight "normalized_weight" Num false;
        UserLimitFactor "user_limit_factor" Num false;
        MaxAmPercent "max_am_percent" Num false;
        MaxAllocation "max_allocation" Res false;
        SharingContainers "sharing_containers" Counts true;
    }
}

keys! {
    /// Facts of an application.
    AppKey {
        Used "used" Res false;
        Reserved "reserved" Res false;
        Pending "pending" Res false;
        Live "live" Count false;
        ReservedCount "reserved_count" Count false;
        Headroom "headroom" Res false;
        Outstanding "outstanding" Counts false;
        Opportunities "opportunities" Counts true;
        ReReservations "re_reservations" Counts true;
        OnNode "on_node" Counts false;
        Containers "containers" Resources false;
        State "state" Text false;
        Runnable "runnable" Flag true;
        Priority "priority" Count false;
    }
}

keys! {
    /// Facts of a node.
    NodeKey {
        Used "used" Res false;
        Available "available" Res false;
        Containers "containers" Count false;
        ReservedApp "reserved_app" TextOrNull false;
    }
}

keys! {
    /// Facts of a user in a queue.
    UserKey {
        Used "used" Res true;
        ActiveApps "active_apps" Count true;
        PendingApps "pending_apps" Count true;
    }
}

/// Expected facts of one thing.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts<K> {
    /// Key and value, in order.
    pub facts: Vec<(K, Expected)>,
    /// The same by partition; the name `default` is the empty label.
    pub by_label: BTreeMap<String, Facts<K>>,
}

impl<'de, K: Key> Deserialize<'de> for Facts<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<K>(PhantomData<K>);
        impl<'de, K: Key> Visitor<'de> for Of<K> {
            type Value = Facts<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of expected values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Facts<K>, A::Error> {
                let mut out = Facts {
                    facts: Vec::new(),
                    by_label: BTreeMap::new(),
                };
                while let Some(name) = map.next_key::<String>()? {
                    if name == "by_label" {
                        out.by_label = map.next_value()?;
                        continue;
                    }
                    let Some(key) = K::parse(&name) else {
                        let names: Vec<_> = K::TABLE.iter().map(|row| row.1).collect();
                        return Err(A::Error::custom(format!(
                            "unknown key {name}, expected one of by_label, {}",
                            names.join(", ")
                        )));
                    };
                    let value: Expected = map.next_value()?;
                    let (_, shape, _) = key.row();
                    if !shape.fits(&value) {
                        return Err(A::Error::custom(format!(
                            "{name}: {value} is not a value of shape {shape:?}"
                        )));
                    }
                    out.facts.push((key, value));
                }
                Ok(out)
            }
        }
        deserializer.deserialize_map(Of(PhantomData))
    }
}

/// One `expect` step.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// By path.
    pub queues: BTreeMap<String, Facts<QueueKey>>,
    /// By name.
    pub apps: BTreeMap<String, Facts<AppKey>>,
    /// By name.
    pub nodes: BTreeMap<String, Facts<NodeKey>>,
    /// By queue and user.
    pub users: BTreeMap<String, BTreeMap<String, Facts<UserKey>>>,
    /// What the latest heartbeat did.
    pub last_assignment: Option<String>,
    /// Of the cluster.
    pub max_allocation: Option<Res>,
    /// Absolute tolerance of fractions in this step.
    pub tolerance: Option<f64>,
    /// Type and queue of capacity warnings that must be there; none at all if empty.
    pub warnings: Option<Vec<(String, String)>>,
    /// Nodes as the multi-node sorter orders them.
    pub node_order: Option<Vec<String>>,
    /// Killable containers by queue.
    pub killable: BTreeMap<String, i64>,
    /// Killable containers by application.
    pub killable_apps: BTreeMap<String, i64>,
    /// Containers marked for preemption now.
    pub to_preempt: Option<i64>,
    /// The same by application.
    pub to_preempt_apps: BTreeMap<String, i64>,
    /// The same by node.
    pub to_preempt_nodes: BTreeMap<String, i64>,
}
