//! A resource of a launch context, what makes two of them the same, and who may share it.
//! May touch: the values it is given.
//! Must not: open what a URL names.

use std::fmt;

/// `URLProto`: where a resource comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceUrl {
    /// `file`, `hdfs`, …; empty means the default file system.
    pub scheme: String,
    /// Host, empty for local files.
    pub host: String,
    /// Port; below 1 means none.
    pub port: i32,
    /// Absolute path.
    pub path: String,
}

impl fmt::Display for ResourceUrl {
    /// As Hadoop's `Path` prints it: `file:/a/b`, `hdfs://host:8020/a/b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.host.is_empty() {
            write!(f, "//{}", self.host)?;
            if self.port > 0 {
                write!(f, ":{}", self.port)?;
            }
        }
        f.write_str(&self.path)
    }
}

/// `LocalResourceType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// Unpacked into a directory, by the file's suffix.
    Archive,
    /// Kept as it is.
    File,
    /// Archive kept, and the entries that match the pattern unpacked beside it.
    Pattern,
}

/// `LocalResourceVisibility`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Visibility {
    /// Shared by all users of the node.
    Public,
    /// Shared by the applications of one user.
    Private,
    /// For one application.
    Application,
}

/// `LocalResource` of a launch context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalResource {
    /// Where it comes from.
    pub url: ResourceUrl,
    /// Size in bytes that the client saw; below 0 means unknown.
    pub size: i64,
    /// Modification time in ms after 1970 that the client saw.
    pub timestamp_ms: i64,
    /// How it is unpacked.
    pub kind: ResourceKind,
    /// Who shares it.
    pub visibility: Visibility,
    /// Pattern (a Java regular expression) of [`ResourceKind::Pattern`].
    pub pattern: Option<String>,
}

/// What makes two requests the same cached thing (`LocalResourceRequest.equals`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceKey {
    /// Where it comes from.
    pub url: ResourceUrl,
    /// Modification time in ms.
    pub timestamp_ms: i64,
    /// How it is unpacked.
    pub kind: ResourceKind,
    /// Pattern, if any.
    pub pattern: Option<String>,
}

impl LocalResource {
    /// Its key.
    pub fn key(&self) -> ResourceKey {
        ResourceKey {
            url: self.url.clone(),
            timestamp_ms: self.timestamp_ms,
            kind: self.kind,
            pattern: self.pattern.clone(),
        }
    }

    /// The part of the cache it belongs to for an application of `user`.
    pub fn scope(&self, user: &str, app_id: &str) -> Scope {
        match self.visibility {
            Visibility::Public => Scope::Public,
            Visibility::Private => Scope::Private {
                user: user.to_owned(),
            },
            Visibility::Application => Scope::Application {
                user: user.to_owned(),
                app_id: app_id.to_owned(),
            },
        }
    }
}

/// A part of the cache that nobody outside it shares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All users.
    Public,
    /// One user.
    Private {
        /// Submitter.
        user: String,
    },
    /// One application.
    Application {
        /// Submitter.
        user: String,
        /// `application_…`.
        app_id: String,
    },
}

impl Scope {
    /// Directory of this part, relative to a local directory.
    pub fn dir(&self) -> String {
        match self {
            Scope::Public => "filecache".to_owned(),
            Scope::Private { user } => format!("usercache/{user}/filecache"),
            Scope::Application { user, app_id } => {
                format!("usercache/{user}/appcache/{app_id}/filecache")
            }
        }
    }
}
