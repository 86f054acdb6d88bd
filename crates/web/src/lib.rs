//! What the web servers of both daemons share: JSON and XML, refusals, `/conf`, escaping.
//! May touch: HTTP requests and answers, the configuration.
//! Must not: know an application, a node or a container.

mod answer;
mod conf;
mod html;

pub use answer::{Format, Pairs};
pub use conf::conf;
pub use html::escape;
