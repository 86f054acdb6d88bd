//! What the web servers of both daemons share: JSON and XML, refusals, `/conf`, escaping.
//! May touch: HTTP requests and answers, the configuration.
//! Must not: know an application, a node or a container.

mod answer;
mod conf;
mod html;
mod jmx;
mod login;
mod xml;

use actix_web::{Resource, Route, guard, web};

pub use answer::{Format, Pairs, not_allowed, not_supported};
pub use conf::conf;
pub use html::escape;
pub use jmx::{Bean, JmxQuery, answer as jmx_answer};
pub use login::{Login, User, login};

/// GET, and HEAD, which is answered with the same headers and no body.
pub fn get() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// An address of a REST interface, with and without a slash at its end.
pub fn rest(path: &str) -> Resource {
    web::resource([path.to_owned(), format!("{path}/")]).default_service(web::to(not_allowed))
}

/// Headers of every answer that has not set them itself.
pub fn default_headers() -> actix_web::middleware::DefaultHeaders {
    actix_web::middleware::DefaultHeaders::new()
        .add(("Cache-Control", "no-cache"))
        .add(("X-Content-Type-Options", "nosniff"))
        .add(("X-Frame-Options", "SAMEORIGIN"))
}
