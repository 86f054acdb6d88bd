//! `Reject`: a refusal as data; the shell maps its kind to the Java exception class.
//! May touch: text.
//! Must not: know class names or the wire.

/// A refused request.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Reject {
    /// Which kind, for the exception class.
    pub kind: RejectKind,
    /// Hadoop's text.
    pub message: String,
    /// More than the caller is told, for the daemon's log; kept in no journal.
    #[serde(skip)]
    pub detail: Option<String>,
}

/// Kinds of refusal, one per Java exception class that clients tell apart.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub enum RejectKind {
    /// `ApplicationNotFoundException`.
    ApplicationNotFound,
    /// `ApplicationAttemptNotFoundException`.
    ApplicationAttemptNotFound,
    /// `ContainerNotFoundException`.
    ContainerNotFound,
    /// `InvalidResourceRequestException`.
    InvalidResourceRequest,
    /// `InvalidLabelResourceRequestException`.
    InvalidLabelResourceRequest,
    /// `InvalidContainerReleaseException`.
    InvalidContainerRelease,
    /// `InvalidResourceBlacklistRequestException`.
    InvalidResourceBlacklistRequest,
    /// `InvalidApplicationMasterRequestException`.
    InvalidApplicationMasterRequest,
    /// `ApplicationMasterNotRegisteredException`.
    ApplicationMasterNotRegistered,
    /// `AccessControlException`.
    AccessControl,
    /// `YarnException`.
    Yarn,
}

impl RejectKind {
    /// Every kind, for tests that a table is complete.
    pub const ALL: &[Self] = &[
        Self::ApplicationNotFound,
        Self::ApplicationAttemptNotFound,
        Self::ContainerNotFound,
        Self::InvalidResourceRequest,
        Self::InvalidLabelResourceRequest,
        Self::InvalidContainerRelease,
        Self::InvalidResourceBlacklistRequest,
        Self::InvalidApplicationMasterRequest,
        Self::ApplicationMasterNotRegistered,
        Self::AccessControl,
        Self::Yarn,
    ];
}

impl Reject {
    /// A refusal of `kind` with Hadoop's `message`.
    pub fn new(kind: RejectKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
        }
    }

    /// With what the log says besides.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }
}
