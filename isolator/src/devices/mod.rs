//! The rule model of device isolation: an allow-list with default deny, and its evaluator.
//! May touch: values it is given.
//! Must not: look at the machine; `majors`, `v1`, `v2` and `bpf` do.

pub mod bpf;
pub mod list;
pub mod majors;
pub mod program;
pub mod v1;
pub mod v2;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most rules in one set: loading a program of 1,000 rules takes the kernel about 0.1 s.
pub const RULES_MAX: usize = 1024;

/// Kind of device node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Block and character devices (`a`).
    All,
    /// Block devices (`b`).
    Block,
    /// Character devices (`c`).
    Char,
}

impl Kind {
    /// The letter of the v1 devices controller.
    pub const fn letter(self) -> char {
        match self {
            Self::All => 'a',
            Self::Block => 'b',
            Self::Char => 'c',
        }
    }
}

/// What is asked of a device: a set of read, write and mknod. The bits are those of
/// `BPF_DEVCG_ACC_*` in linux/bpf.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access(u8);

impl Access {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Creating a node (`m`).
    pub const MKNOD: Self = Self(1);
    /// Reading (`r`).
    pub const READ: Self = Self(2);
    /// Writing (`w`).
    pub const WRITE: Self = Self(4);
    /// Reading and writing (`rw`).
    pub const RW: Self = Self(6);
    /// All three (`rwm`).
    pub const RWM: Self = Self(7);

    /// The bits of `BPF_DEVCG_ACC_*`; `None` for bits that mean nothing.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits <= 7 { Some(Self(bits)) } else { None }
    }

    /// The bits of `BPF_DEVCG_ACC_*`.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without `other`.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the sets share something.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of this set is in `other`.
    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, letter) in [(Self::READ, "r"), (Self::WRITE, "w"), (Self::MKNOD, "m")] {
            if self.overlaps(bit) {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}

/// One rule. `None` as a number stands for every number (`*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rule {
    /// `true` allows, `false` denies; a denial wins over every allowance.
    pub allow: bool,
    /// Kind of node.
    pub kind: Kind,
    /// Major number.
    pub major: Option<u32>,
    /// Minor number.
    pub minor: Option<u32>,
    /// Accesses the rule speaks of.
    pub access: Access,
}

/// One question: may this be done with this device?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Kind of node; [`Kind::All`] is no device and is always refused.
    pub kind: Kind,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// All that is asked at once: an open for reading and writing asks for both together.
    pub access: Access,
}

impl Rule {
    /// An allowance for one character device.
    pub const fn char(major: u32, minor: u32, access: Access) -> Self {
        Self {
            allow: true,
            kind: Kind::Char,
            major: Some(major),
            minor: Some(minor),
            access,
        }
    }

    /// Whether the rule is about the device of `query`, whatever is asked of it.
    pub fn names(&self, query: &Query) -> bool {
        query.kind != Kind::All
            && (self.kind == Kind::All || self.kind == query.kind)
            && self.major.is_none_or(|n| n == query.major)
            && self.minor.is_none_or(|n| n == query.minor)
    }

    /// Whether every device of `other` is a device of this rule.
    fn covers(&self, other: &Self) -> bool {
        let number = |own: Option<u32>, other: Option<u32>| own.is_none() || own == other;
        (self.kind == Kind::All || self.kind == other.kind)
            && number(self.major, other.major)
            && number(self.minor, other.minor)
    }

    /// Whether some device is named by both rules.
    fn meets(&self, other: &Self) -> bool {
        let number = |a: Option<u32>, b: Option<u32>| a.is_none() || b.is_none() || a == b;
        (self.kind == Kind::All || other.kind == Kind::All || self.kind == other.kind)
            && number(self.major, other.major)
            && number(self.minor, other.minor)
    }

    /// The rule as the v1 devices controller reads and prints it, e.g. `c 195:0 rw`.
    pub fn line(&self) -> String {
        let number = |n: Option<u32>| n.map_or_else(|| "*".to_owned(), |n| n.to_string());
        format!(
            "{} {}:{} {}",
            self.kind.letter(),
            number(self.major),
            number(self.minor),
            self.access
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.allow { "allow" } else { "deny" };
        write!(f, "{verb} {}", self.line())
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;
    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

/// Why a text or a list of rules was not accepted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RuleError {
    /// Not `[allow|deny] KIND MAJOR:MINOR ACCESS`.
    #[error("{0:?} is no device rule, one looks like \"c 195:0 rw\"")]
    Text(String),
    /// Over [`RULES_MAX`].
    #[error("{0} device rules, at most {RULES_MAX} are accepted")]
    TooMany(usize),
    /// The v1 controller keeps allowances only, and this denial cuts a hole into a wider one.
    #[error(
        "{0} cannot be expressed by the cgroup v1 devices controller: it denies a part of a wider allowance"
    )]
    Hole(Rule),
}

impl FromStr for Rule {
    type Err = RuleError;

    /// Reads a line of `devices.list` or the text of [`Rule`]'s `Display`.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let bad = || RuleError::Text(text.chars().take(80).collect());
        let (allow, line) = match text.split_once(' ') {
            Some(("allow", rest)) => (true, rest),
            Some(("deny", rest)) => (false, rest),
            _ => (true, text),
        };
        let mut words = line.split(' ');
        let (Some(kind), Some(device), Some(access), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(bad());
        };
        let kind = match kind {
            "a" => Kind::All,
            "b" => Kind::Block,
            "c" => Kind::Char,
            _ => return Err(bad()),
        };
        let (major, minor) = device.split_once(':').ok_or_else(bad)?;
        let number = |text: &str| match text {
            "*" => Ok(None),
            digits => digits.parse().map(Some).map_err(|_| bad()),
        };
        let mut set = Access::NONE;
        for letter in access.chars() {
            set = set.union(match letter {
                'r' => Access::READ,
                'w' => Access::WRITE,
                'm' => Access::MKNOD,
                _ => return Err(bad()),
            });
        }
        Ok(Self {
            allow,
            kind,
            major: number(major)?,
            minor: number(minor)?,
            access: set,
        })
    }
}

/// Rules in normal form: no `a` (it becomes `b` and `c`), one rule per device and verb,
/// denials first, sorted. Two sets of rules mean the same to a reader when they are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Vec<Rule>", try_from = "Vec<Rule>")]
pub struct RuleSet(Vec<Rule>);

impl From<RuleSet> for Vec<Rule> {
    fn from(set: RuleSet) -> Self {
        set.0
    }
}

impl TryFrom<Vec<Rule>> for RuleSet {
    type Error = RuleError;
    fn try_from(rules: Vec<Rule>) -> Result<Self, RuleError> {
        Self::new(rules)
    }
}

impl RuleSet {
    /// Brings `rules` into normal form.
    ///
    /// # Errors
    /// [`RuleError::TooMany`].
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, RuleError> {
        let mut merged: BTreeMap<_, Access> = BTreeMap::new();
        for rule in rules {
            let kinds: &[Kind] = match rule.kind {
                Kind::All => &[Kind::Block, Kind::Char],
                Kind::Block => &[Kind::Block],
                Kind::Char => &[Kind::Char],
            };
            for kind in kinds {
                // The kernel merges rights of one device; two rules must not be asked separately.
                let key = (rule.allow, *kind, rule.major, rule.minor);
                let access = merged.entry(key).or_insert(Access::NONE);
                *access = access.union(rule.access);
            }
        }
        let rules: Vec<Rule> = merged
            .into_iter()
            .filter(|(_, access)| !access.is_none())
            .map(|((allow, kind, major, minor), access)| Rule {
                allow,
                kind,
                major,
                minor,
                access,
            })
            .collect();
        if rules.len() > RULES_MAX {
            return Err(RuleError::TooMany(rules.len()));
        }
        Ok(Self(rules))
    }

    /// The rules, denials first.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// The same set without denials, for the v1 controller in its allow-list mode.
    ///
    /// # Errors
    /// [`RuleError::Hole`] for a denial that only cuts a part out of a wider allowance.
    pub fn allow_list(&self) -> Result<Vec<Rule>, RuleError> {
        let (allows, denies): (Vec<Rule>, Vec<Rule>) = self.0.iter().partition(|r| r.allow);
        let mut list = Vec::with_capacity(allows.len());
        for mut rule in allows {
            for deny in &denies {
                if deny.covers(&rule) {
                    rule.access = rule.access.minus(deny.access);
                } else if deny.meets(&rule) && deny.access.overlaps(rule.access) {
                    return Err(RuleError::Hole(*deny));
                }
            }
            if !rule.access.is_none() {
                list.push(rule);
            }
        }
        Ok(list)
    }
}

/// Whether `rules` let `query` through: no denial may share a bit with it, and one allowance
/// must hold all of it. What no rule names is denied.
pub fn decide(rules: &RuleSet, query: &Query) -> bool {
    let named = |allow| {
        rules
            .0
            .iter()
            .filter(move |r| r.allow == allow && r.names(query))
    };
    !named(false).any(|r| r.access.overlaps(query.access))
        && named(true).any(|r| query.access.within(r.access))
}

#[cfg(test)]
#[path = "rules_test.rs"]
mod tests;
