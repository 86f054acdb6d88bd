//! The web server: container logs where Spark and the ResourceManager link to, and the state
//! as JSON.
//! May touch: log files (opened without following links), questions to the core.
//! Must not: change anything.

mod dto;
mod logs;
mod pages;
mod resources;
mod rest;

use std::{net::TcpListener, path::PathBuf, sync::Arc};

use actix_web::{App, HttpServer, dev::Server, web};
use yarn_conf::Configuration;
use yarn_types::{NodeId, Resource, ResourceTypes};

use crate::{driver::Inbox, gpu::LastReading, isolation::Guard, settings::MonitorSettings};

/// What the pages show.
#[derive(Clone, Debug)]
pub struct Site {
    /// For `/conf`.
    pub conf: Configuration,
    /// The core.
    pub inbox: Inbox,
    /// Id of the node.
    pub node: NodeId,
    /// Port of this server.
    pub http_port: u16,
    /// `yarn.nodemanager.log-dirs`.
    pub log_dirs: Vec<PathBuf>,
    /// What the node offers.
    pub total: Resource,
    /// Resource lanes.
    pub types: ResourceTypes,
    /// Memory checks.
    pub monitor: MonitorSettings,
    /// Wall milliseconds of the daemon's start.
    pub started_wall_ms: i64,
    /// Isolation of containers.
    pub guard: Arc<Guard>,
    /// The cards as read last.
    pub cards: LastReading,
    /// The GPU plugin is on.
    pub manages_gpus: bool,
}

impl Site {
    /// `host:port` of this server, as links name it.
    pub fn address(&self) -> String {
        format!("{}:{}", self.node.host, self.http_port)
    }
}

/// The server on `listener`; runs when awaited.
///
/// # Errors
/// The socket cannot be used.
pub fn server(site: Site, listener: TcpListener) -> std::io::Result<Server> {
    let conf = web::Data::new(site.conf.clone());
    let site = web::Data::new(site);
    let app = move || {
        App::new()
            .app_data(site.clone())
            .app_data(conf.clone())
            .wrap(yarn_web::default_headers())
            .configure(routes)
    };
    let server = HttpServer::new(app)
        .workers(2)
        .disable_signals()
        .shutdown_timeout(1)
        .listen(listener)?
        .run();
    Ok(server)
}

fn routes(config: &mut web::ServiceConfig) {
    let log = |path: &str| web::resource([path.to_owned(), format!("{path}/")]);
    config
        .route("/", web::get().to(pages::to_node))
        .route("/conf", web::get().to(yarn_web::conf))
        .route("/node", web::get().to(pages::node))
        .service(log("/node/containerlogs/{id}/{user}").route(web::get().to(logs::list)))
        .service(log("/node/containerlogs/{id}/{user}/{file}").route(web::get().to(logs::page)))
        .service(log("/ws/v1/node").route(web::get().to(rest::info)))
        .service(log("/ws/v1/node/info").route(web::get().to(rest::info)))
        .service(log("/ws/v1/node/resources/{name}").route(web::get().to(resources::resource)))
        .service(log("/ws/v1/node/containers").route(web::get().to(rest::containers)))
        .service(log("/ws/v1/node/containers/{id}").route(web::get().to(rest::container)))
        .service(log("/ws/v1/node/apps").route(web::get().to(rest::apps)))
        .service(log("/ws/v1/node/apps/{id}").route(web::get().to(rest::app)))
        .service(log("/ws/v1/node/containers/{id}/logs").route(web::get().to(rest::container_logs)))
        .service(log("/ws/v1/node/containers/{id}/logs/{file}").route(web::get().to(logs::text)))
        .service(log("/ws/v1/node/containerlogs/{id}/{file}").route(web::get().to(logs::text)));
}

#[cfg(test)]
#[path = "web_test.rs"]
mod tests;
