//! The web server: container logs where Spark and the ResourceManager link to, and the state
//! as JSON.
//! May touch: log files (opened without following links), questions to the core.
//! Must not: change anything.

mod dto;
mod jmx;
mod logs;
mod pages;
mod resources;
mod rest;

use std::{net::TcpListener, path::PathBuf, sync::Arc};

use actix_web::{App, HttpServer, dev::Server, middleware, web};
use yarn_conf::Configuration;
use yarn_types::{NodeId, ResourceTypes};
use yarn_web::{Login, get, rest as at};

use crate::{
    acls::NodeAcls, driver::Inbox, gpu::LastReading, isolation::Guard, offer::Offer,
    settings::MonitorSettings,
};

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
    pub offer: Offer,
    /// Who may see applications and their logs.
    pub acls: Arc<NodeAcls>,
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
    let login = Login::new(&site.conf, "simple").map_err(std::io::Error::other)?;
    let login = web::Data::new(login);
    let site = web::Data::new(site);
    let app = move || {
        App::new()
            .app_data(site.clone())
            .app_data(conf.clone())
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
    Ok(server)
}

fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/", get().to(pages::to_node))
        .route("/conf", get().to(yarn_web::conf))
        .route("/jmx", get().to(jmx::jmx))
        .route("/node", get().to(pages::node))
        .service(at("/node/containerlogs/{id}/{user}").route(get().to(logs::list)))
        .service(at("/node/containerlogs/{id}/{user}/{file}").route(get().to(logs::page)))
        .service(at("/ws/v1/node").route(get().to(rest::info)))
        .service(at("/ws/v1/node/info").route(get().to(rest::info)))
        .service(at("/ws/v1/node/resources/{name}").route(get().to(resources::resource)))
        .service(at("/ws/v1/node/containers").route(get().to(rest::containers)))
        .service(at("/ws/v1/node/containers/{id}").route(get().to(rest::container)))
        .service(at("/ws/v1/node/apps").route(get().to(rest::apps)))
        .service(at("/ws/v1/node/apps/{id}").route(get().to(rest::app)))
        .service(at("/ws/v1/node/containers/{id}/logs").route(get().to(rest::container_logs)))
        .service(at("/ws/v1/node/containers/{id}/logs/{file}").route(get().to(logs::text)))
        .service(at("/ws/v1/node/containerlogs/{id}/{file}").route(get().to(logs::text)));
}

#[cfg(test)]
#[path = "web_test.rs"]
mod tests;
