//! Answers on their way to one peer: encoded by whoever answers, written by the connection's task in one go.
//! May touch: the connection's send buffer.
//! Must not: grow without bound, or lose an answer that nobody gave (a dropped replier answers with an error).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use tokio::sync::Notify;
use yarn_proto::common::rpc_response_header_proto::RpcStatusProto;

use super::RemoteException;
use crate::codec::{ResponseTo, write_error, write_success};

/// Send buffers above this size are given back after use.
const KEPT_BYTES: usize = 64 * 1024;

/// Shared by the connection's task and its repliers.
#[derive(Debug)]
pub(super) struct Outbox {
    pending: Mutex<Pending>,
    wake: Notify,
    bytes_max: usize,
}

#[derive(Debug)]
struct Pending {
    bytes: BytesMut,
    in_flight: usize,
    /// The task runs and will look here before it sleeps.
    awake: bool,
    /// The connection is gone, or the peer does not take its answers.
    state: State,
}

/// Whether answers still reach the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// They do.
    Open,
    /// More answers wait than the cap allows: the connection must end.
    Overflow,
    /// The connection has ended.
    Closed,
}

impl Outbox {
    pub(super) fn new(bytes_max: usize) -> Arc<Self> {
        let pending = Pending {
            bytes: BytesMut::new(),
            in_flight: 0,
            awake: true,
            state: State::Open,
        };
        Arc::new(Self {
            pending: Mutex::new(pending),
            wake: Notify::new(),
            bytes_max,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        // Nothing panics while it holds the lock; a poisoned buffer would still be well-formed frames.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A replier for one more call.
    pub(super) fn replier(self: &Arc<Self>, to: ResponseTo) -> Replier {
        self.lock().in_flight += 1;
        Replier {
            outbox: Arc::clone(self),
            to: Some(to),
        }
    }

    /// Moves what waits behind `out`; returns the calls still open and the state.
    pub(super) fn take(&self, out: &mut BytesMut) -> (usize, State) {
        let mut pending = self.lock();
        pending.awake = true;
        if out.is_empty() {
            if out.capacity() > KEPT_BYTES {
                *out = BytesMut::new();
            }
            std::mem::swap(out, &mut pending.bytes);
        } else if !pending.bytes.is_empty() {
            out.extend_from_slice(&pending.bytes);
            pending.bytes.clear();
        }
        (pending.in_flight, pending.state)
    }

    /// True if nothing waits, and then the next answer wakes [`woken`](Self::woken).
    pub(super) fn may_sleep(&self) -> bool {
        let mut pending = self.lock();
        pending.awake = !pending.bytes.is_empty() || pending.state != State::Open;
        !pending.awake
    }

    /// Returns when an answer was given after [`may_sleep`](Self::may_sleep).
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// No answer can be sent any more.
    pub(super) fn close(&self) {
        let mut pending = self.lock();
        pending.state = State::Closed;
        pending.bytes = BytesMut::new();
    }

    /// Appends an answer.
    fn answer(&self, to: &ResponseTo, write: impl FnOnce(&mut BytesMut)) {
        let mut pending = self.lock();
        pending.in_flight = pending.in_flight.saturating_sub(1);
        if pending.state != State::Open {
            return;
        }
        let before = pending.bytes.len();
        write(&mut pending.bytes);
        if before > 0 && pending.bytes.len() > self.bytes_max {
            tracing::debug!(
                call_id = to.call_id,
                waiting_bytes = pending.bytes.len(),
                "peer does not take its answers"
            );
            pending.state = State::Overflow;
            pending.bytes = BytesMut::new();
        }
        if !pending.awake {
            pending.awake = true;
            drop(pending);
            self.wake.notify_one();
        }
    }
}

/// Answers one call, from any thread. Dropped unanswered it sends an `IOException`.
#[derive(Debug)]
pub struct Replier {
    outbox: Arc<Outbox>,
    to: Option<ResponseTo>,
}

impl Replier {
    /// The call succeeded.
    pub fn ok(mut self, message: &impl prost::Message) {
        let Some(to) = self.to.take() else { return };
        self.outbox.answer(&to, |out| {
            if !write_success(out, &to, message) {
                let text = format!(
                    "response of {} bytes is too long for a frame",
                    message.encoded_len()
                );
                put_error(out, &to, &RemoteException::unserializable(text));
            }
        });
    }

    /// The call failed.
    #[allow(clippy::needless_pass_by_value)] // callers make the exception for this one use
    pub fn err(mut self, e: RemoteException) {
        let Some(to) = self.to.take() else { return };
        self.outbox.answer(&to, |out| put_error(out, &to, &e));
    }
}

impl Drop for Replier {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let e = RemoteException::io("the server dropped the call without an answer");
            self.outbox.answer(&to, |out| put_error(out, &to, &e));
        }
    }
}

fn put_error(out: &mut BytesMut, to: &ResponseTo, e: &RemoteException) {
    write_error(out, to, RpcStatusProto::Error, &e.class, &e.message, e.code);
}

#[cfg(test)]
#[path = "outbox_test.rs"]
mod tests;
