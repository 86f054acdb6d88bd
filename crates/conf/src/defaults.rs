//! The default values of Hadoop 3.5.0 (core-default.xml, yarn-default.xml).
//! May touch: two tables compiled in, `key<TAB>default` a line.
//! Must not: hold values of Heddle's own.

/// A table of defaults in key order.
pub(crate) struct Defaults {
    /// Hadoop's name of the file.
    pub file: &'static str,
    text: &'static str,
}

/// `core-default.xml` of 3.5.0.
pub(crate) const CORE: Defaults = Defaults {
    file: "core-default.xml",
    text: include_str!("defaults/core-default-3.5.0.tsv"),
};

/// `yarn-default.xml` of 3.5.0.
pub(crate) const YARN: Defaults = Defaults {
    file: "yarn-default.xml",
    text: include_str!("defaults/yarn-default-3.5.0.tsv"),
};

impl Defaults {
    /// Every key Hadoop documents with its default; an empty default is no value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        self.text.lines().filter_map(|line| {
            let (key, value) = line.split_once('\t')?;
            Some((key, (!value.is_empty()).then_some(value)))
        })
    }
}
