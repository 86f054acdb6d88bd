//! Ids as they travel and print, with Hadoop's text forms.
//! May touch: text.
//! Must not: be used as map keys on the hot path (cores use indices).

use std::{fmt, str::FromStr, sync::Arc};

/// A text that is not the id it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseIdError {
    /// What was expected, e.g. `application_<timestamp>_<number>`.
    pub expected: &'static str,
    /// What was given.
    pub text: String,
}

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not of the form {}", self.text, self.expected)
    }
}

impl std::error::Error for ParseIdError {}

/// `application_<cluster timestamp>_<number, at least 4 digits>` (`ApplicationId.toString`).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct ApplicationId {
    /// Start of the RM that made it, wall milliseconds.
    pub cluster_timestamp: i64,
    /// Number within that RM's life, from 1.
    pub id: u32,
}

/// `appattempt_<cluster timestamp>_<app>_<attempt, 6 digits>`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct ApplicationAttemptId {
    /// Its application.
    pub app: ApplicationId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

/// `container_[e<epoch>_]<cluster timestamp>_<app>_<attempt, 2 digits>_<number, 6 digits>`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct ContainerId {
    /// The attempt it was granted to.
    pub attempt: ApplicationAttemptId,
    /// Number with the RM's epoch in the bits from 40 up.
    pub id: u64,
}

/// Bits of a container id below the epoch (`ContainerId.CONTAINER_ID_BITMASK`).
pub const CONTAINER_ID_BITS: u32 = 40;

/// `host:port` exactly as the node registered it (`NodeId`).
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize,
)]
pub struct NodeId {
    /// Host as registered; never resolved or lower-cased.
    pub host: Arc<str>,
    /// RPC port.
    pub port: u16,
}

impl ApplicationId {
    /// The id of attempt number `attempt`.
    pub fn attempt(self, attempt: u32) -> ApplicationAttemptId {
        ApplicationAttemptId { app: self, attempt }
    }
}

impl ApplicationAttemptId {
    /// The id of container `number` granted in RM epoch `epoch`.
    pub fn container(self, epoch: u32, number: u64) -> ContainerId {
        let mask = (1 << CONTAINER_ID_BITS) - 1;
        ContainerId {
            attempt: self,
            id: (u64::from(epoch) << CONTAINER_ID_BITS) | (number & mask),
        }
    }
}

impl ContainerId {
    /// The application it belongs to.
    pub fn app(self) -> ApplicationId {
        self.attempt.app
    }
}

impl NodeId {
    /// A node id of `host` and `port`.
    pub fn new(host: impl Into<Arc<str>>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }
}

impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "application_{}_{:04}", self.cluster_timestamp, self.id)
    }
}

impl fmt::Display for ApplicationAttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let app = self.app;
        write!(
            f,
            "appattempt_{}_{:04}_{:06}",
            app.cluster_timestamp, app.id, self.attempt
        )
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let app = self.attempt.app;
        let epoch = self.id >> CONTAINER_ID_BITS;
        let number = self.id & ((1 << CONTAINER_ID_BITS) - 1);
        f.write_str("container_")?;
        if epoch > 0 {
            write!(f, "e{epoch:02}_")?;
        }
        let attempt = self.attempt.attempt;
        write!(
            f,
            "{}_{:04}_{attempt:02}_{number:06}",
            app.cluster_timestamp, app.id
        )
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Decimal digits only: `+1` and `-1` are not ids.
fn number<T: FromStr>(text: &str) -> Option<T> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

impl FromStr for ApplicationId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parse = || {
            let mut parts = text.strip_prefix("application_")?.split('_');
            let id = Self {
                cluster_timestamp: number(parts.next()?)?,
                id: number(parts.next()?)?,
            };
            parts.next().is_none().then_some(id)
        };
        parse().ok_or_else(|| ParseIdError {
            expected: "application_<timestamp>_<number>",
            text: text.to_owned(),
        })
    }
}

impl FromStr for ApplicationAttemptId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parse = || {
            let mut parts = text.strip_prefix("appattempt_")?.split('_');
            let app = ApplicationId {
                cluster_timestamp: number(parts.next()?)?,
                id: number(parts.next()?)?,
            };
            let attempt = app.attempt(number(parts.next()?)?);
            parts.next().is_none().then_some(attempt)
        };
        parse().ok_or_else(|| ParseIdError {
            expected: "appattempt_<timestamp>_<number>_<attempt>",
            text: text.to_owned(),
        })
    }
}

impl FromStr for ContainerId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parse = || {
            let mut parts = text.strip_prefix("container_")?.split('_').peekable();
            let mut epoch = 0_u64;
            if let Some(e) = parts.peek()?.strip_prefix('e') {
                epoch = number(e)?;
                parts.next();
            }
            let app = ApplicationId {
                cluster_timestamp: number(parts.next()?)?,
                id: number(parts.next()?)?,
            };
            let attempt = app.attempt(number(parts.next()?)?);
            let low: u64 = number(parts.next()?)?;
            let fits = epoch < 1 << (63 - CONTAINER_ID_BITS) && low < 1 << CONTAINER_ID_BITS;
            let id = (epoch << CONTAINER_ID_BITS.min(63)) | low;
            (fits && parts.next().is_none()).then_some(Self { attempt, id })
        };
        parse().ok_or_else(|| ParseIdError {
            expected: "container_[e<epoch>_]<timestamp>_<app>_<attempt>_<number>",
            text: text.to_owned(),
        })
    }
}

impl FromStr for NodeId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parse = || {
            let (host, port) = text.rsplit_once(':')?;
            (!host.is_empty()).then_some(())?;
            Some(Self::new(host, number(port)?))
        };
        parse().ok_or_else(|| ParseIdError {
            expected: "host:port",
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
#[path = "ids_test.rs"]
mod tests;
