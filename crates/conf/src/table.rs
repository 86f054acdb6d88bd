//! `Configuration`: the merged table of all files, defaults and `-D` values.
//! May touch: its own data; built by `load`.
//! Must not: change after it was built, or read files.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    path::{Path, PathBuf},
    sync::Arc,
};

use yarn_types::Lookup;

use crate::{
    defaults::{CORE, Defaults, YARN},
    deprecated,
    error::{Origin, Problem, is_secret},
    expand,
    xml::Property,
};

/// Where an entry came from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A default of Hadoop.
    Default,
    /// A site file or `-D`.
    Set(Origin),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub value: Arc<str>,
    pub source: Source,
}

/// What `${…}` may refer to besides keys.
#[derive(Clone, Default, Debug)]
pub(crate) struct Outside {
    /// Environment variables, for `${env.NAME}`.
    pub env: BTreeMap<String, String>,
    /// What Java calls system properties, e.g. `user.name`.
    pub properties: BTreeMap<String, String>,
}

#[derive(Default, Debug)]
pub(crate) struct Table {
    pub entries: BTreeMap<Arc<str>, Entry>,
    pub finals: BTreeSet<Arc<str>>,
    pub warnings: Vec<Problem>,
    pub outside: Outside,
    pub dir: Option<PathBuf>,
    /// The file that was read in place of one of the directory's.
    pub instead: Option<PathBuf>,
    pub renamed_reported: BTreeSet<&'static str>,
    /// Keys of node-resources.xml, where it is not one of the daemon's own files.
    pub offered: BTreeSet<String>,
}

impl Table {
    /// A layer of defaults; over earlier layers, as Hadoop loads yarn-default.xml after core-site.xml.
    pub(crate) fn add_defaults(&mut self, defaults: &Defaults) {
        for (key, value) in defaults.iter() {
            let Some(value) = value else { continue };
            if self.finals.contains(key) {
                continue;
            }
            if let Some(Entry {
                value: set,
                source: Source::Set(origin),
            }) = self.entries.get(key)
                && &**set != value
            {
                let text = format!(
                    "has no effect: Hadoop loads {} after this file, so '{value}' stands; set it in yarn-site.xml",
                    defaults.file
                );
                let problem = problem_at(key, Some(set), Some(origin.clone()), text);
                self.warnings.push(problem);
            }
            let entry = Entry {
                value: value.into(),
                source: Source::Default,
            };
            self.entries.insert(key.into(), entry);
        }
    }

    /// One more default.
    pub(crate) fn add_default(&mut self, key: &str, value: &str) {
        let entry = Entry {
            value: value.into(),
            source: Source::Default,
        };
        self.entries.insert(key.into(), entry);
    }

    /// A layer of properties in file order.
    pub(crate) fn add_properties(&mut self, properties: Vec<Property>) {
        for p in properties {
            self.add(p.name, p.value, p.is_final, p.origin);
        }
    }

    /// A `-D key=value`: over everything but what a file made final.
    pub(crate) fn add_override(&mut self, key: &str, value: &str) {
        let origin = Origin {
            file: "-D".into(),
            line: 0,
        };
        self.add(key.to_owned(), Some(value.to_owned()), false, origin);
    }

    fn add(&mut self, name: String, value: Option<String>, is_final: bool, origin: Origin) {
        let key: Arc<str> = match deprecated::new_name(&name) {
            Some(new) => {
                if self.renamed_reported.insert(new) {
                    let text = format!("is deprecated. Instead, use {new}");
                    let problem = problem_at(&name, None, Some(origin.clone()), text);
                    self.warnings.push(problem);
                }
                new.into()
            }
            None => name.into(),
        };
        if let Some(value) = value {
            if self.finals.contains(&key) {
                let unchanged = self.entries.get(&key).is_some_and(|e| *e.value == *value);
                if !unchanged {
                    let text = "an attempt to override final parameter; ignoring".to_owned();
                    let problem = problem_at(&key, Some(&value), Some(origin.clone()), text);
                    self.warnings.push(problem);
                }
            } else {
                let entry = Entry {
                    value: value.into(),
                    source: Source::Set(origin),
                };
                self.entries.insert(Arc::clone(&key), entry);
            }
        }
        if is_final {
            self.finals.insert(key);
        }
    }
}

fn problem_at(key: &str, value: Option<&str>, origin: Option<Origin>, text: String) -> Problem {
    Problem {
        key: key.to_owned(),
        value: value.filter(|_| !is_secret(key)).map(str::to_owned),
        origin,
        text,
    }
}
/// Hadoop's `Configuration` after all its resources are loaded; cheap to clone, never changes.
#[derive(Clone, Debug)]
pub struct Configuration(pub(crate) Arc<Table>);

impl Configuration {
    /// Hadoop's defaults with `pairs` on top, as if each was given by `-D`; no files, empty environment.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut table = Table::default();
        table.add_defaults(&CORE);
        table.add_defaults(&YARN);
        for (key, value) in pairs {
            table.add_override(key, value);
        }
        Self(Arc::new(table))
    }

    /// The directory the files were read from.
    pub fn dir(&self) -> Option<&Path> {
        self.0.dir.as_deref()
    }

    /// The one file that is looked at, else that of the directory called `name`, e.g. `yarn-site.xml`.
    pub(crate) fn looked_at(&self, name: &str) -> Option<PathBuf> {
        match &self.0.instead {
            Some(file) => Some(file.clone()),
            None => Some(self.dir()?.join(name)),
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        let key = deprecated::new_name(key).unwrap_or(key);
        self.0.entries.get(key)
    }

    /// Where `key` was set; `None` when unset or standing at Hadoop's default.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        match &self.entry(key)?.source {
            Source::Set(origin) => Some(origin),
            Source::Default => None,
        }
    }

    /// Whether a file or `-D` set `key`.
    pub fn is_set(&self, key: &str) -> bool {
        self.origin(key).is_some()
    }

    /// Whether `key` may no longer be overridden.
    pub fn is_final(&self, key: &str) -> bool {
        let key = deprecated::new_name(key).unwrap_or(key);
        self.0.finals.contains(key)
    }

    /// The value as written, with blanks and `${…}` as they are.
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|e| &*e.value)
    }

    /// The value with `${…}` expanded (`Configuration.get`), blanks kept.
    ///
    /// # Errors
    /// References that do not end after 20 rounds, or grow beyond all reason.
    pub fn get(&self, key: &str) -> Result<Option<String>, Problem> {
        let Some(raw) = self.raw(key) else {
            return Ok(None);
        };
        expand::expand(self, raw)
            .map(Some)
            .map_err(|text| self.problem_with(key, Some(raw), text))
    }

    /// [`Configuration::get`] without blanks at both ends.
    ///
    /// # Errors
    /// As [`Configuration::get`].
    pub fn get_trimmed(&self, key: &str) -> Result<Option<String>, Problem> {
        Ok(self
            .get(key)?
            .map(|v| crate::values::java_trim(&v).to_owned()))
    }

    /// Every key with its value as written, in key order, defaults included.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.entries.iter().map(|(k, e)| (&**k, &*e.value))
    }

    /// The keys that a file or `-D` set, in key order, with the place.
    pub fn set_keys(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.0.entries.iter().filter_map(|(k, e)| match &e.source {
            Source::Set(origin) => Some((&**k, origin)),
            Source::Default => None,
        })
    }

    /// Whether node-resources.xml gives an amount of the type with exactly this name.
    pub(crate) fn offers_type(&self, name: &str) -> bool {
        let key = format!("{}{name}", crate::node_resources::PREFIX);
        self.0.offered.contains(&key) || self.is_set(&key)
    }

    /// What was odd while loading: deprecated names, attempts to override what is final.
    pub fn warnings(&self) -> &[Problem] {
        &self.0.warnings
    }

    /// A problem with the value that `key` has now; origin and value are filled in.
    pub fn problem(&self, key: &str, text: impl Into<String>) -> Problem {
        let value = self.get(key).ok().flatten();
        self.problem_with(key, value.as_deref(), text.into())
    }

    fn problem_with(&self, key: &str, value: Option<&str>, text: String) -> Problem {
        problem_at(key, value, self.origin(key).cloned(), text)
    }
}

impl Lookup for Configuration {
    /// A value whose references loop is `None` here; [`crate::gate::check`] refuses it at start.
    fn get(&self, key: &str) -> Option<String> {
        Configuration::get(self, key).ok().flatten()
    }

    fn keys_with_prefix(&self, prefix: &str) -> Vec<String> {
        self.0
            .entries
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(k, _)| k.starts_with(prefix))
            .map(|(k, _)| k.to_string())
            .collect()
    }
}
