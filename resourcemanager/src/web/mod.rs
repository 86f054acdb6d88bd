//! HTTP: REST answers and plain pages; the way to the pages of ApplicationMasters.
//! May touch: the core's read model, actix-web, the tracking URLs of running applications.
//! Must not: change anything.

mod access;
mod apps;
mod body;
mod change;
mod dto;
mod dto_queues;
mod filter;
mod labels;
mod offer;
mod overview;
mod pages;
mod proxy;
mod rest;
mod scheduler;
mod servlets;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
};

use actix_web::{App, HttpResponse, HttpServer, dev::ServerHandle, middleware, web};
use rm_core::Rm;
use tokio::sync::oneshot;
use yarn_conf::Configuration;
use yarn_web::{Format, Login, get, rest as at};

use crate::rpc::Context;

/// What every handler may use.
pub struct State {
    /// The RM's parts.
    pub context: Arc<Context>,
    /// Start, wall milliseconds.
    pub started_wall_ms: i64,
    /// For `/conf`.
    pub conf: Configuration,
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

/// The core does not answer now.
fn busy(format: Format) -> HttpResponse {
    format.unavailable("ResourceManager is too busy")
}

/// Whether the queue of `path` is that of `parent` or below it.
fn is_within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The running server.
pub struct Web {
    handle: ServerHandle,
    thread: JoinHandle<io::Result<()>>,
}

/// Every address that is served.
fn routes(config: &mut web::ServiceConfig) {
    config
        .service(at("/ws/v1/cluster").route(get().to(rest::info)))
        .service(at("/ws/v1/cluster/info").route(get().to(rest::info)))
        .service(at("/ws/v1/cluster/metrics").route(get().to(rest::metrics)))
        .service(at("/ws/v1/cluster/scheduler").route(get().to(scheduler::scheduler)))
        .service(at("/ws/v1/cluster/apps").route(get().to(apps::apps)))
        .service(at("/ws/v1/cluster/apps/{app}").route(get().to(apps::app)))
        .service(at("/ws/v1/cluster/apps/{app}/appattempts").route(get().to(apps::attempts)))
        .service(
            at("/ws/v1/cluster/apps/{app}/state")
                .route(get().to(apps::state_of))
                .route(web::put().to(apps::put_state)),
        )
        .service(at("/ws/v1/cluster/appstatistics").route(get().to(apps::statistics)))
        .service(at("/ws/v1/cluster/nodes").route(get().to(rest::nodes)))
        .service(at("/ws/v1/cluster/nodes/{node}").route(get().to(rest::node)))
        .service(at("/ws/v1/cluster/nodes/{node}/resource").route(web::post().to(offer::change)))
        .configure(label_routes)
        .configure(change::routes)
        .route("/jmx", get().to(servlets::jmx))
        .route("/conf", get().to(yarn_web::conf))
        .route("/isActive", get().to(servlets::is_active))
        .service(
            web::resource("/proxy/{path:.*}")
                .route(get().to(proxy::proxy))
                .route(web::post().to(proxy::proxy))
                .route(web::put().to(proxy::proxy)),
        )
        .route("/", get().to(pages::root))
        .route("/cluster", get().to(overview::overview))
        .route("/cluster/apps", get().to(overview::overview))
        .route("/cluster/nodes", get().to(pages::nodes))
        .route("/cluster/app/{app}", get().to(pages::app));
}

fn label_routes(config: &mut web::ServiceConfig) {
    let path = |name: &str| at(&format!("/ws/v1/cluster/{name}"));
    config
        .service(path("get-node-labels").route(get().to(labels::cluster)))
        .service(path("get-rm-node-labels").route(get().to(labels::partitions)))
        .service(path("get-node-to-labels").route(get().to(labels::node_to_labels)))
        .service(path("label-mappings").route(get().to(labels::mappings)))
        .service(path("nodes/{node}/get-labels").route(get().to(labels::of_node)))
        .service(path("add-node-labels").route(web::post().to(labels::add)))
        .service(path("remove-node-labels").route(web::post().to(labels::remove)))
        .service(path("replace-node-to-labels").route(web::post().to(labels::replace_all)))
        .service(path("nodes/{node}/replace-labels").route(web::post().to(labels::replace_one)));
}

/// The server itself; `tell` gets its handle once it runs.
async fn serve(
    listener: TcpListener,
    state: State,
    tell: std::sync::mpsc::Sender<ServerHandle>,
) -> io::Result<()> {
    let conf = web::Data::new(state.conf.clone());
    let timeout = proxy::timeout(&state.conf).map_err(io::Error::other)?;
    let client = proxy::client(&listener, &state.context.web_url, timeout)?;
    let client = web::Data::new(client);
    // "dt": with delegation tokens, as stock's own filter calls itself
    let login = Login::new(&state.conf, "simple-dt").map_err(io::Error::other)?;
    let login = web::Data::new(login);
    let state = web::Data::new(state);
    let app = move || {
        App::new()
            .app_data(state.clone())
            .app_data(conf.clone())
            .app_data(client.clone())
            .app_data(login.clone())
            .wrap(middleware::from_fn(yarn_web::login))
            .wrap(yarn_web::default_headers())
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
