//! Starts and stops ApplicationMasters on their nodes (`AMLauncher`).
//! May touch: ContainerManagementProtocol, tokens, launch contexts.
//! Must not: decide whether an attempt lives (the core does), or log a launch context.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hadoop_ipc::{
    client::{Auth as ClientAuth, CallError, Client, ClientOptions},
    token::Credentials,
};
use rm_core::{Event, effect::Grant};
use tokio::{runtime::Handle, sync::Semaphore};
use yarn_proto::{
    convert::container_id_proto,
    yarn::{
        ContainerIdProto, ContainerLaunchContextProto, StartContainerRequestProto,
        StartContainersRequestProto, StartContainersResponseProto, StopContainersRequestProto,
        StopContainersResponseProto, StringStringMapProto,
    },
};
use yarn_types::{ApplicationAttemptId, ContainerId, NodeId};

use crate::{
    auth::Auth,
    driver::{Driver, wall_ms},
    submissions::Submissions,
};

const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";
/// `ApplicationConstants.APPLICATION_WEB_PROXY_BASE_ENV`.
const WEB_PROXY_BASE: &str = "APPLICATION_WEB_PROXY_BASE";
/// `ApplicationConstants.APP_SUBMIT_TIME_ENV`.
const SUBMIT_TIME: &str = "APP_SUBMIT_TIME_ENV";
/// A node that is still registering is ready soon.
const NOT_READY_RETRY: Duration = Duration::from_secs(1);

/// One ApplicationMaster to start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Whose.
    pub attempt: ApplicationAttemptId,
    /// Submitter.
    pub user: Arc<str>,
    /// Its container.
    pub grant: Box<Grant>,
    /// Wall milliseconds of submission.
    pub submitted_wall_ms: i64,
}

/// Limits of the launcher.
#[derive(Clone, Copy, Debug)]
pub struct LauncherOptions {
    /// Launches at the same time.
    pub threads: usize,
    /// How long a node is tried.
    pub connect_wait: Duration,
    /// Pause between two tries.
    pub connect_retry: Duration,
}

/// Why a start failed.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("{0}")]
    Call(#[from] CallError),
    #[error("{class}: {message}")]
    Refused { class: String, message: String },
    #[error("the launch context of the application is gone")]
    NoContext,
    #[error("the credentials of the application cannot be read: {0}")]
    Credentials(#[from] hadoop_ipc::token::TokenError),
    #[error("the attempt has ended")]
    Ended,
}

impl LaunchError {
    /// How long to wait before the next try; `None` when trying again cannot help.
    fn retry_after(&self, options: &LauncherOptions) -> Option<Duration> {
        let class = match self {
            Self::Call(CallError::Io(_) | CallError::Timeout) => {
                return Some(options.connect_retry);
            }
            Self::Call(CallError::Remote { class, .. }) | Self::Refused { class, .. } => class,
            _ => return None,
        };
        class
            .ends_with("NMNotYetReadyException")
            .then(|| NOT_READY_RETRY.min(options.connect_retry))
    }
}

struct Shared {
    driver: Driver,
    auth: Arc<Auth>,
    submissions: Arc<Submissions>,
    options: LauncherOptions,
    slots: Semaphore,
}

/// The launcher; each start and stop is a task of its own.
#[derive(Clone)]
pub struct Launcher {
    shared: Arc<Shared>,
    runtime: Handle,
}

impl Launcher {
    /// A launcher that reports to `driver`.
    pub fn new(
        driver: Driver,
        auth: Arc<Auth>,
        submissions: Arc<Submissions>,
        options: LauncherOptions,
        runtime: Handle,
    ) -> Self {
        let shared = Shared {
            driver,
            auth,
            submissions,
            options,
            slots: Semaphore::new(options.threads.max(1)),
        };
        Self {
            shared: Arc::new(shared),
            runtime,
        }
    }

    /// Starts an ApplicationMaster; the outcome comes as [`Event::AmLaunched`] or
    /// [`Event::AmLaunchFailed`].
    pub fn launch(&self, launch: Launch) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            // The semaphore is never closed.
            let Ok(_slot) = shared.slots.acquire().await else {
                return;
            };
            let attempt = launch.attempt;
            match shared.launch(&launch).await {
                Ok(()) => {
                    tracing::info!(%attempt, container = %launch.grant.container, node = %launch.grant.node, "application master started");
                    shared.driver.tell(Event::AmLaunched { attempt });
                }
                Err(LaunchError::Ended) => {}
                Err(e) => {
                    tracing::warn!(%attempt, node = %launch.grant.node, error = %e, "application master cannot be started");
                    let diagnostics = format!("Error launching {attempt}. Got exception: {e}");
                    shared.driver.tell(Event::AmLaunchFailed {
                        attempt,
                        diagnostics,
                    });
                }
            }
        });
    }

    /// Stops an ApplicationMaster's container; its node reports the end.
    pub fn stop(&self, attempt: ApplicationAttemptId, container: ContainerId, node: NodeId) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            let user = shared.submissions.get(attempt.app);
            let user = user.map_or_else(|| Arc::from(""), |s| Arc::clone(&s.user));
            if let Err(e) = shared.stop(attempt, container, &node, &user).await {
                // The node hears of it in its next heartbeat as well.
                tracing::info!(%attempt, %node, error = %e, "application master cannot be stopped directly");
            }
        });
    }
}

impl Shared {
    async fn launch(&self, launch: &Launch) -> Result<(), LaunchError> {
        let began = Instant::now();
        loop {
            if !self.auth.is_live(launch.attempt) {
                return Err(LaunchError::Ended);
            }
            let error = match self.start(launch).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let left = self.options.connect_wait.saturating_sub(began.elapsed());
            match error.retry_after(&self.options) {
                Some(wait) if wait <= left => {
                    tracing::debug!(attempt = %launch.attempt, error = %error, "trying again");
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(error),
            }
        }
    }

    async fn start(&self, launch: &Launch) -> Result<(), LaunchError> {
        let grant = &launch.grant;
        let submitted = self.submissions.get(launch.attempt.app);
        let submitted = submitted.ok_or(LaunchError::NoContext)?;
        let context = self.context(launch, submitted.context.clone())?;
        let client = self
            .connect(launch.attempt, &grant.node, &launch.user)
            .await?;
        let log_aggregation = submitted.log_aggregation.clone();
        let token = self
            .auth
            .container_token(grant, &launch.user, log_aggregation, wall_ms());
        let request = StartContainersRequestProto {
            start_container_request: vec![StartContainerRequestProto {
                container_launch_context: Some(context),
                container_token: Some(token.into()),
            }],
        };
        let answer: StartContainersResponseProto = client.call("startContainers", &request).await?;
        let ours = |id: &Option<ContainerIdProto>| {
            id.as_ref() == Some(&container_id_proto(grant.container))
        };
        let mut failed = answer.failed_requests.into_iter();
        let failed = failed.find(|f| ours(&f.container_id));
        failed.map_or(Ok(()), |failed| {
            let exception = failed.exception.unwrap_or_default();
            Err(LaunchError::Refused {
                class: exception.class_name().to_owned(),
                message: exception.message().to_owned(),
            })
        })
    }

    async fn connect(
        &self,
        attempt: ApplicationAttemptId,
        node: &NodeId,
        user: &str,
    ) -> Result<Client, CallError> {
        let auth = ClientAuth::Token {
            token: self.auth.nm_token(attempt, node, user),
        };
        let options = ClientOptions::default();
        Client::connect((&*node.host, node.port), PROTOCOL, auth, options).await
    }

    /// The client's context with the AMRMToken and what the RM adds to the environment.
    fn context(
        &self,
        launch: &Launch,
        mut context: ContainerLaunchContextProto,
    ) -> Result<ContainerLaunchContextProto, LaunchError> {
        let mut credentials = Credentials::from_bytes(context.tokens())?;
        let token = self.auth.amrm_token(launch.attempt);
        credentials.add(token.ok_or(LaunchError::Ended)?);
        context.tokens = Some(credentials.to_bytes());
        let proxy_base = format!("/proxy/{}", launch.attempt.app);
        set_env(&mut context.environment, WEB_PROXY_BASE, proxy_base);
        let submitted = launch.submitted_wall_ms.to_string();
        set_env(&mut context.environment, SUBMIT_TIME, submitted);
        Ok(context)
    }

    async fn stop(
        &self,
        attempt: ApplicationAttemptId,
        container: ContainerId,
        node: &NodeId,
        user: &str,
    ) -> Result<(), LaunchError> {
        let client = self.connect(attempt, node, user).await?;
        let request = StopContainersRequestProto {
            container_id: vec![container_id_proto(container)],
        };
        let _: StopContainersResponseProto = client.call("stopContainers", &request).await?;
        Ok(())
    }
}

/// Sets one variable, replacing an earlier value.
fn set_env(environment: &mut Vec<StringStringMapProto>, key: &str, value: String) {
    environment.retain(|entry| entry.key() != key);
    environment.push(StringStringMapProto {
        key: Some(key.to_owned()),
        value: Some(value),
    });
}

#[cfg(test)]
#[path = "launcher_test.rs"]
mod tests;
