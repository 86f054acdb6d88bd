//! The client of Hadoop IPC: one connection, many calls in flight.
//! May touch: sockets, tokio time, random ids and nonces.
//! Must not: reconnect or retry (callers know what may be repeated), or use a server that does not prove the token.

mod connection;
mod handshake;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use yarn_proto::common::RequestHeaderProto;

use crate::codec::{FRAME_BYTES_MAX, Reply, write_call};
use crate::token::Token;

/// Version that every YARN protocol has.
const PROTOCOL_VERSION: u64 = 1;

/// How to authenticate.
#[derive(Debug, Clone)]
pub enum Auth {
    /// As this user, unproved.
    Simple {
        /// Effective user.
        user: String,
    },
    /// With a token; the server must prove that it knows the password too.
    Token {
        /// Kind and service are not looked at.
        token: Token,
    },
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// Time to connect and authenticate. `ipc.client.connect.timeout` 20 s.
    pub connect_timeout: Duration,
    /// Time for one call. `ipc.client.rpc-timeout.ms` 120 s.
    pub call_timeout: Duration,
    /// Largest response, `ipc.maximum.response.length`.
    pub frame_bytes_max: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            call_timeout: Duration::from_mins(2),
            frame_bytes_max: FRAME_BYTES_MAX,
        }
    }
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server answered with an exception.
    #[error("{class}: {message}")]
    Remote {
        /// Java class name.
        class: String,
        /// Its message; Java servers add a stack trace.
        message: String,
        /// The server closed the connection with it.
        fatal: bool,
    },
    /// The connection could not be made or broke. The call may have been done.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// No answer in time. The call may have been done.
    #[error("no answer in time")]
    Timeout,
    /// The server does not keep to the protocol, or a message is too long.
    #[error("protocol: {0}")]
    Protocol(String),
}

impl CallError {
    /// Java class of the exception, if the server sent one.
    pub fn class(&self) -> Option<&str> {
        match self {
            Self::Remote { class, .. } => Some(class),
            _ => None,
        }
    }
}

/// A connection to one server and protocol. Calls may be made from many tasks at once.
pub struct Client {
    shared: Arc<Shared>,
    protocol: &'static str,
    id: [u8; 16],
    options: ClientOptions,
    task: JoinHandle<()>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

/// What callers share with the connection's task.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<ClientState>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct ClientState {
    output: BytesMut,
    waiting: BTreeMap<i32, oneshot::Sender<Result<Bytes, CallError>>>,
    next_call_id: i32,
    broken: Option<Broken>,
}

/// Why the connection ended, told to every later call.
#[derive(Debug, Clone)]
enum Broken {
    Io(io::ErrorKind, String),
    Fatal { class: String, message: String },
    Protocol(String),
}

impl Broken {
    fn error(&self) -> CallError {
        match self.clone() {
            Self::Io(kind, text) => CallError::Io(io::Error::new(kind, text)),
            Self::Fatal { class, message } => CallError::Remote {
                class,
                message,
                fatal: true,
            },
            Self::Protocol(text) => CallError::Protocol(text),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ClientState> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every waiting call and all later ones.
    fn break_off(&self, broken: Broken) {
        let waiting = {
            let mut state = self.lock();
            state.output = BytesMut::new();
            let broken = state.broken.get_or_insert(broken).clone();
            std::mem::take(&mut state.waiting)
                .into_values()
                .map(move |sender| (sender, broken.error()))
        };
        for (sender, error) in waiting {
            // A caller that gave up is not told.
            drop(sender.send(Err(error)));
        }
    }

    /// Hands a response to its caller; false if the connection is to end.
    fn on_reply(&self, reply: Reply) -> Result<(), Broken> {
        let (call_id, result) = match reply {
            Reply::Success { call_id, body } => (call_id, Ok(body)),
            Reply::Error {
                fatal: true,
                class,
                message,
                ..
            } => return Err(Broken::Fatal { class, message }),
            Reply::Error {
                call_id,
                fatal,
                class,
                message,
            } => (
                call_id,
                Err(CallError::Remote {
                    class,
                    message,
                    fatal,
                }),
            ),
        };
        // An answer to a call that timed out finds nobody waiting.
        if let Some(sender) = self.lock().waiting.remove(&call_id) {
            drop(sender.send(result));
        }
        Ok(())
    }
}

/// Takes a call off the waiting list when its future ends or is dropped.
struct Waiting<'a> {
    shared: &'a Shared,
    call_id: i32,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.lock().waiting.remove(&self.call_id);
    }
}

impl Client {
    /// Connects to `addr` (a socket address or `host:port`) and authenticates for `protocol`.
    pub async fn connect(
        addr: impl ToSocketAddrs,
        protocol: &'static str,
        auth: Auth,
        options: ClientOptions,
    ) -> Result<Self, CallError> {
        let id = rand::random::<[u8; 16]>();
        let opening = async {
            let mut stream = TcpStream::connect(addr).await?;
            stream.set_nodelay(true)?;
            let rest = handshake::open(&mut stream, protocol, auth, &id).await?;
            Ok::<_, CallError>((stream, rest))
        };
        let opened = tokio::time::timeout(options.connect_timeout, opening).await;
        let (stream, input) = opened.map_err(|_| CallError::Timeout)??;
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(connection::run(
            stream,
            input,
            Arc::clone(&shared),
            options.frame_bytes_max,
        ));
        Ok(Self {
            shared,
            protocol,
            id,
            options,
            task,
        })
    }

    /// Makes a call and waits for its answer, at most [`ClientOptions::call_timeout`].
    pub async fn call<Req, Resp>(&self, method: &str, request: &Req) -> Result<Resp, CallError>
    where
        Req: prost::Message,
        Resp: prost::Message + Default,
    {
        let (sender, receiver) = oneshot::channel();
        let waiting = self.send(method, request, sender)?;
        let answer = tokio::time::timeout(self.options.call_timeout, receiver).await;
        drop(waiting);
        let body = answer.map_err(|_| CallError::Timeout)?.map_err(|_| {
            CallError::Io(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "connection task ended",
            ))
        })??;
        Resp::decode(body)
            .map_err(|e| CallError::Protocol(format!("bad response to {method}: {e}")))
    }

    /// True until the connection has broken.
    pub fn is_open(&self) -> bool {
        self.shared.lock().broken.is_none()
    }

    fn send(
        &self,
        method: &str,
        request: &impl prost::Message,
        sender: oneshot::Sender<Result<Bytes, CallError>>,
    ) -> Result<Waiting<'_>, CallError> {
        let header = RequestHeaderProto {
            method_name: method.to_owned(),
            declaring_class_protocol_name: self.protocol.to_owned(),
            client_protocol_version: PROTOCOL_VERSION,
        };
        let mut state = self.shared.lock();
        if let Some(broken) = &state.broken {
            return Err(broken.error());
        }
        let call_id = state.next_call_id;
        state.next_call_id = call_id.checked_add(1).unwrap_or(0);
        if !write_call(&mut state.output, call_id, &self.id, &header, request) {
            return Err(CallError::Protocol(format!(
                "request of {} bytes is too long",
                request.encoded_len()
            )));
        }
        state.waiting.insert(call_id, sender);
        drop(state);
        self.shared.wake.notify_one();
        Ok(Waiting {
            shared: &self.shared,
            call_id,
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}
