//! What the web servers of both daemons share: JSON and XML, refusals, `/conf`, escaping.
//! May touch: HTTP requests and answers, the configuration.
//! Must not: know an application, a node or a container.

mod answer;
mod conf;
mod html;

pub use answer::{Format, Pairs};
pub use conf::conf;
pub use html::escape;

/// Headers of every answer that has not set them itself.
pub fn default_headers() -> actix_web::middleware::DefaultHeaders {
    actix_web::middleware::DefaultHeaders::new()
        .add(("Cache-Control", "no-cache"))
        .add(("X-Content-Type-Options", "nosniff"))
        .add(("X-Frame-Options", "SAMEORIGIN"))
}
