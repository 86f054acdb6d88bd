//! Reads capacity-scheduler.xml again when it changed, where the administrator wants that.
//! May touch: the reload port, the driver.
//! Must not: decide what a refresh does (the core does).

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use rm_core::{Event, sched::Sched};
use tokio::sync::oneshot;

use crate::{driver::Driver, rpc::Reload};

/// How often the settings are asked whether the monitor is on, while it is off
/// (`queue.auto.refresh.monitoring-interval`'s default).
const OFF_PERIOD: Duration = Duration::from_secs(5);

/// `QueueConfigurationAutoRefreshPolicy`: looks in its period, which a refresh may change, whether
/// the file is another than at the last look. A file that is refused is tried again when it
/// changes. Never ends by itself.
pub async fn follow_queues(driver: Driver, reload: Arc<dyn Reload>) {
    let mut seen = changed_at(&reload).await;
    loop {
        let period = period(&driver).await;
        tokio::time::sleep(period.unwrap_or(OFF_PERIOD)).await;
        let now = changed_at(&reload).await;
        if period.is_none() || now.is_none() || now == seen {
            continue;
        }
        seen = now;
        read_again(&driver, &reload).await;
    }
}

async fn changed_at(reload: &Arc<dyn Reload>) -> Option<SystemTime> {
    let reload = Arc::clone(reload);
    let looked = tokio::task::spawn_blocking(move || reload.queues_changed_at());
    looked.await.ok().flatten()
}

async fn ask<T: Send + 'static>(
    driver: &Driver,
    question: impl FnOnce(&Sched) -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = oneshot::channel();
    driver.read(move |rm| {
        // a receiver that went away wants no answer
        let _gone = tell.send(rm.map(|rm| question(rm.sched())));
    });
    told.await.ok().flatten()
}

async fn period(driver: &Driver) -> Option<Duration> {
    let period_ms = ask(driver, Sched::auto_refresh_interval_ms).await?;
    period_ms.map(Duration::from_millis)
}

async fn read_again(driver: &Driver, reload: &Arc<dyn Reload>) {
    let reload = Arc::clone(reload);
    let Some(standing) = ask(driver, Sched::standing).await else {
        return tracing::error!("queues changed but were not read: too busy");
    };
    let read = tokio::task::spawn_blocking(move || reload.queues(&standing));
    let conf = match read.await {
        Ok(Ok(conf)) => Box::new(conf),
        Ok(Err(text)) => return tracing::error!(error = text, "queues changed but are refused"),
        Err(e) => return tracing::error!(error = %e, "queues changed but were not read"),
    };
    let (tell, told) = oneshot::channel();
    driver.call(
        Instant::now(),
        |call| Event::Reload { call, conf },
        move |answer| {
            let _gone = tell.send(answer.map(|_| ()));
        },
    );
    match told.await {
        Ok(Ok(())) => tracing::info!("queues changed, read again"),
        Ok(Err(refusal)) => tracing::error!(?refusal, "queues changed but are refused"),
        Err(_) => {}
    }
}
