//! Hadoop IPC version 9: codec, SASL and tokens without IO; server and client on tokio.
//! May touch: bytes; sockets, time and randomness only in `server` and `client`.
//! Must not: know what a YARN call means, or keep a secret longer than its key ring does.

pub mod client;
pub mod codec;
pub mod sasl;
pub mod server;
pub mod token;
