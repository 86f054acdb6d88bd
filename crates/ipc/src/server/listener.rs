//! Accepts connections and ends them all at shutdown.
//! May touch: the listening socket, tasks.
//! Must not: read a frame.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connection::Connection;
use super::{ServerOptions, Service};

/// Connections that wait to be accepted, `ipc.server.listen.queue.size` and more.
const BACKLOG: u32 = 1024;
/// Pause after an accept that failed (no file descriptor left, for instance).
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A running server. Dropped, it stops at once; [`shutdown`](Self::shutdown) lets answers out.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    stop: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens and starts to serve. Must be called inside a tokio runtime with IO and time.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(options: ServerOptions, service: Arc<dyn Service>) -> io::Result<Self> {
        let socket = if options.bind.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        socket.bind(options.bind)?;
        let listener = socket.listen(BACKLOG)?;
        let local_addr = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let connections = Arc::new(AtomicUsize::new(0));
        let options = Arc::new(options);
        let count = Arc::clone(&connections);
        let accepting = tokio::spawn(accept(listener, options, service, stopped, count));
        Ok(Self {
            local_addr,
            stop,
            connections,
            accepting,
        })
    }

    /// The address that is listened on, with its real port.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Connections that are open now (`NumOpenConnections`).
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Stops accepting and reading, lets answers of open calls out for the grace time, closes everything.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        // The task ends by itself; a join error would mean that it was aborted already.
        if let Err(e) = (&mut self.accepting).await {
            tracing::debug!(error = %e, "server task ended early");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    options: Arc<ServerOptions>,
    service: Arc<dyn Service>,
    mut stopped: watch::Receiver<bool>,
    count: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < options.connections_max => {
                    let counted = Counted::new(&count);
                    let connection = Connection::new(peer, Arc::clone(&options), Arc::clone(&service));
                    connections.spawn(serve(stream, peer, connection, stopped.clone(), counted));
                }
                Ok((_, peer)) => {
                    tracing::warn!(%peer, connections_max = options.connections_max, "too many connections, one refused");
                }
                Err(e) => {
                    tracing::warn!(error = %e, "accept failed");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(options.shutdown_grace, all_ended)
        .await
        .is_err()
    {
        tracing::warn!("calls without an answer at the end of the grace time");
    }
    connections.shutdown().await;
}

/// Counts a connection as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    connection: Connection,
    stopped: watch::Receiver<bool>,
    _counted: Counted,
) {
    if let Err(e) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = %e, "no TCP_NODELAY");
    }
    match connection.run(stream, stopped).await {
        Ok(reason) => tracing::debug!(%peer, reason, "connection ended"),
        Err(e) => tracing::debug!(%peer, error = %e, "connection broke"),
    }
}
