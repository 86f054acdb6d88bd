//! The server of Hadoop IPC: one task a connection, calls handed to a [`Service`], answers in any order.
//! May touch: sockets, tokio time, random nonces.
//! Must not: block on a service, hold unbounded memory for a peer, or know what a call means.

mod budget;
mod connection;
mod input;
mod listener;
mod meta;
mod outbox;
mod remote;
mod session;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::codec::FRAME_BYTES_MAX;
use crate::sasl::Offer;
pub use crate::sasl::{InvalidToken, Secret, Secrets};
pub use budget::{INPUT_BYTES_MAX, InputBudget};
pub use listener::Server;
pub use outbox::Replier;
pub use remote::{ErrorCode, RemoteException};

/// Who may connect to a port.
#[derive(Clone)]
pub enum AuthPolicy {
    /// SIMPLE only: NEGOTIATE is answered SUCCESS.
    SimpleOnly,
    /// Tokens, and SIMPLE for clients without one: ports 8032, 8031, 8033.
    TokenAndSimple(Arc<dyn Secrets>),
    /// Tokens only: port 8030 and the NodeManager.
    TokenOnly(Arc<dyn Secrets>),
}

impl AuthPolicy {
    const fn offer(&self) -> Offer {
        match self {
            Self::SimpleOnly => Offer::Simple,
            Self::TokenAndSimple(_) => Offer::TokenAndSimple,
            Self::TokenOnly(_) => Offer::Token,
        }
    }

    fn secrets(&self) -> Option<&dyn Secrets> {
        match self {
            Self::SimpleOnly => None,
            Self::TokenAndSimple(secrets) | Self::TokenOnly(secrets) => Some(secrets.as_ref()),
        }
    }
}

/// Says whether the first user, from that address, may act as the second (`hadoop.proxyuser.*`).
pub type ProxyRule = Arc<dyn Fn(&str, &str, IpAddr) -> bool + Send + Sync>;

/// Where and how to serve. Every limit is for one connection unless it says otherwise.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address to listen on; port 0 takes a free one.
    pub bind: SocketAddr,
    /// Who may connect.
    pub auth: AuthPolicy,
    /// Who may act for others; without a rule nobody may, as in Hadoop.
    pub proxy_rule: Option<ProxyRule>,
    /// Bytes of unfinished requests of all connections; ports of a daemon may share it.
    pub input: Arc<InputBudget>,
    /// Largest frame, `ipc.maximum.data.length`; a longer one, or one beyond `input`, ends the
    /// connection.
    pub frame_bytes_max: usize,
    /// Largest frame before the context is accepted.
    pub handshake_frame_bytes_max: usize,
    /// Connections of the whole server; one more is closed at once.
    pub connections_max: usize,
    /// Calls without an answer; the next is not read until one is answered.
    pub calls_in_flight_max: usize,
    /// Answers not taken by the peer before its calls are no longer read.
    pub outbound_bytes_pause: usize,
    /// Answers not taken by the peer that end the connection; a single larger answer is still sent.
    pub outbound_bytes_max: usize,
    /// Time from accept to an accepted context.
    pub handshake_timeout: Duration,
    /// Time without a byte from a peer that waits for nothing.
    pub idle_timeout: Duration,
    /// Time in which the peer takes no byte of an answer.
    pub write_timeout: Duration,
    /// Time that [`Server::shutdown`] gives open calls.
    pub shutdown_grace: Duration,
}

impl ServerOptions {
    /// Defaults: Hadoop's frames as far as [`INPUT_BYTES_MAX`] lets them in; limits that a cluster
    /// of 10,000 nodes stays far below.
    pub fn new(bind: SocketAddr, auth: AuthPolicy) -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            bind,
            auth,
            proxy_rule: None,
            input: Arc::default(),
            frame_bytes_max: FRAME_BYTES_MAX,
            handshake_frame_bytes_max: 64 * 1024,
            connections_max: 32_768,
            calls_in_flight_max: 256,
            outbound_bytes_pause: MIB,
            outbound_bytes_max: 128 * MIB,
            handshake_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_mins(15),
            write_timeout: Duration::from_mins(1),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Effective user: from the context (SIMPLE) or from the token.
    pub user: String,
    /// The user who acts for `user`, if any.
    pub real_user: Option<String>,
    /// Raw token identifier when the connection authenticated by TOKEN.
    pub identifier: Option<Vec<u8>>,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// True when the connection authenticated by TOKEN.
    pub token: bool,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Declared protocol name, `…PB` for YARN's.
    pub protocol: String,
    /// Version of the protocol, 1 everywhere in YARN.
    pub version: u64,
    /// Method name.
    pub method: String,
    /// Undecoded request message.
    pub body: Bytes,
}

impl Call {
    /// Decodes the request message; the error is Hadoop's `InvalidProtocolBufferException`.
    pub fn decode<M: prost::Message + Default>(&self) -> Result<M, RemoteException> {
        M::decode(self.body.clone()).map_err(|e| RemoteException::invalid_request(&e))
    }
}

/// What a port serves.
pub trait Service: Send + Sync + 'static {
    /// Takes a call on its connection's task: must not block. Answer now or later through `reply`.
    fn call(&self, caller: &Arc<Caller>, call: Call, reply: Replier);

    /// Protocols and versions that this port declares. If there are any, calls of other protocols
    /// and versions are refused before [`call`](Self::call), and `ProtocolMetaInfoPB` is answered.
    fn protocols(&self) -> &[(&'static str, u64)] {
        &[]
    }
}
