//! HTTP: the few REST answers and plain pages that clients and Spark link to.
//! May touch: the core's read model, actix-web.
//! Must not: change anything.

mod dto;
mod pages;
mod proxy;
mod rest;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
};

use actix_web::{App, HttpServer, dev::ServerHandle, middleware::DefaultHeaders, web};
use rm_core::Rm;
use tokio::sync::oneshot;

use crate::rpc::Context;

/// What every handler may use.
pub struct State {
    /// The RM's parts.
    pub context: Arc<Context>,
    /// Start, wall milliseconds.
    pub started_wall_ms: i64,
}

impl State {
    /// Asks the core; `None` when it is too busy or stopping.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Rm) -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = oneshot::channel();
        self.context.driver.read(move |rm| {
            // Nobody waits any more when the browser went away.
            let _ = tell.send(rm.map(question));
        });
        told.await.ok().flatten()
    }
}

/// The running server.
pub struct Web {
    handle: ServerHandle,
    thread: JoinHandle<io::Result<()>>,
}

/// Every address that is served.
fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/ws/v1/cluster", web::get().to(rest::info))
        .route("/ws/v1/cluster/info", web::get().to(rest::info))
        .route("/ws/v1/cluster/metrics", web::get().to(rest::metrics))
        .route("/ws/v1/cluster/apps/{app}", web::get().to(rest::app))
        .route("/proxy/{app}", web::get().to(proxy::proxy))
        .route("/proxy/{app}/{path:.*}", web::get().to(proxy::proxy))
        .route("/", web::get().to(pages::root))
        .route("/cluster", web::get().to(pages::cluster))
        .route("/cluster/apps", web::get().to(pages::cluster))
        .route("/cluster/nodes", web::get().to(pages::nodes))
        .route("/cluster/app/{app}", web::get().to(pages::app));
}

/// The server itself; `tell` gets its handle once it runs.
async fn serve(
    listener: TcpListener,
    state: State,
    tell: std::sync::mpsc::Sender<ServerHandle>,
) -> io::Result<()> {
    let state = web::Data::new(state);
    let app = move || {
        let headers = DefaultHeaders::new()
            .add(("Cache-Control", "no-cache"))
            .add(("X-Content-Type-Options", "nosniff"))
            .add(("X-Frame-Options", "SAMEORIGIN"));
        App::new()
            .app_data(state.clone())
            .wrap(headers)
            .configure(routes)
    };
    let server = HttpServer::new(app)
        .workers(2)
        .disable_signals()
        .shutdown_timeout(1)
        .listen(listener)?
        .run();
    // The starter waits for exactly this.
    let _ = tell.send(server.handle());
    server.await
}

impl Web {
    /// Binds `address`.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(address)
    }

    /// Serves on its own threads.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(listener: TcpListener, state: State) -> io::Result<Self> {
        let (tell, told) = std::sync::mpsc::channel();
        let run = move || actix_web::rt::System::new().block_on(serve(listener, state, tell));
        let thread = thread::Builder::new().name("web".to_owned()).spawn(run)?;
        match told.recv() {
            Ok(handle) => Ok(Self { handle, thread }),
            Err(_) => Err(thread
                .join()
                .unwrap_or(Ok(()))
                .err()
                .unwrap_or_else(|| io::Error::other("web server did not start"))),
        }
    }

    /// Stops accepting, lets open requests end for a second.
    pub async fn stop(self) {
        self.handle.stop(true).await;
        // The thread ends with the server; its error would have been logged by then.
        if let Ok(Err(e)) = self.thread.join() {
            tracing::warn!(error = %e, "web server ended badly");
        }
    }
}

#[cfg(test)]
#[path = "web_test.rs"]
mod tests;
