//! One connection: bytes in, frames to the session, answers out, all on one task.
//! May touch: the socket, tokio time, random nonces.
//! Must not: read while too many calls are open or the peer takes no answers, or wait for a service.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::budget::{Grant, Share};
use super::input::{Input as Incoming, READ_BYTES};
use super::outbox::{Outbox, State};
use super::session::{Input, Session};
use super::{Call, Caller, RemoteException, Replier, ServerOptions, Service, meta};
use crate::codec::{PREAMBLE_BYTES, Request, ResponseTo, decoded_bytes, read_call, read_preamble};

/// Requests below this are decoded unseen.
const DECODED_UNSEEN_BYTES: usize = 16 * 1024;
/// After a FATAL frame the peer gets this long to close first; closing on unread bytes would reset the frame away.
const LINGER: Duration = Duration::from_secs(2);
/// The same for a server that stops.
const LINGER_AT_STOP: Duration = Duration::from_millis(200);

#[derive(Clone, Copy)]
struct Ending {
    reason: &'static str,
    /// Open calls are still answered.
    answers: bool,
}

/// A call that waits for room for its message.
struct Waiting {
    caller: Arc<Caller>,
    call: Call,
    reply: Replier,
    /// Body and message; 0 if they do not count.
    bytes: usize,
}

pub(super) struct Connection {
    peer: SocketAddr,
    options: Arc<ServerOptions>,
    service: Arc<dyn Service>,
    session: Session,
    outbox: Arc<Outbox>,
    input: Incoming,
    /// What of `input` counts.
    share: Share,
    waiting: Option<Waiting>,
    output: BytesMut,
    /// Why no more frames are read.
    ending: Option<Ending>,
    in_flight: usize,
    began: Instant,
    last_read: Instant,
    last_write: Instant,
}

impl Connection {
    pub(super) fn new(
        peer: SocketAddr,
        options: Arc<ServerOptions>,
        service: Arc<dyn Service>,
    ) -> Self {
        let now = Instant::now();
        Self {
            peer,
            session: Session::new(options.auth.clone(), options.proxy_rule.clone(), peer),
            outbox: Outbox::new(options.outbound_bytes_max),
            share: Share::new(&options.input),
            options,
            service,
            input: Incoming::default(),
            waiting: None,
            output: BytesMut::new(),
            ending: None,
            in_flight: 0,
            began: now,
            last_read: now,
            last_write: now,
        }
    }

    /// Serves until the peer, a fault, a timeout or the server ends it; says which.
    pub(super) async fn run(
        mut self,
        mut stream: TcpStream,
        mut stopped: watch::Receiver<bool>,
    ) -> io::Result<&'static str> {
        let mut alarm: Pin<Box<Sleep>> = Box::pin(sleep_until(self.deadline()));
        let (mut reader, writer) = stream.split();
        loop {
            self.process();
            if !self.take_answers() {
                return Ok("peer takes no answers");
            }
            if !self.output.is_empty() {
                self.write(writer.try_write(&self.output))?;
            }
            if let Some(ending) = self.ending
                && self.output.is_empty()
                && (self.in_flight == 0 || !ending.answers)
            {
                linger(
                    stream,
                    if ending.answers {
                        LINGER_AT_STOP
                    } else {
                        LINGER
                    },
                )
                .await;
                return Ok(ending.reason);
            }
            if self.can_process() || !self.outbox.may_sleep() {
                continue;
            }
            let deadline = self.deadline();
            if deadline < alarm.deadline() {
                alarm.as_mut().reset(deadline);
            }
            let (room, waits) = match self.wants_read().then(|| self.make_room()).transpose()? {
                None if self.waiting.is_some() => (0, true),
                None => {
                    self.share.keep(self.input.len());
                    (0, false)
                }
                Some((room, Grant::Given)) => (room, false),
                Some((_, Grant::Wait)) => (0, true),
                Some((_, Grant::Leave)) => return Ok("larger than what is left for requests"),
            };
            tokio::select! {
                read = self.input.read(&mut reader, room), if room > 0 => {
                    if read? == 0 {
                        return Ok("peer closed");
                    }
                    self.last_read = Instant::now();
                }
                ready = writer.writable(), if !self.output.is_empty() => ready?,
                () = self.outbox.woken() => {}
                leaves = self.share.woken(waits) => if leaves {
                    return Ok("others need its room");
                },
                () = alarm.as_mut() => {
                    let deadline = self.deadline();
                    if deadline <= Instant::now() {
                        return Ok("timeout");
                    }
                    alarm.as_mut().reset(deadline);
                }
                _ = stopped.changed(), if self.ending.is_none() => self.end("server stops", true),
            }
        }
    }

    /// Moves answers to the send buffer; false if the peer leaves too many there.
    fn take_answers(&mut self) -> bool {
        let unsent = self.output.len();
        let (in_flight, state) = self.outbox.take(&mut self.output);
        self.in_flight = in_flight;
        let overflows = unsent > 0 && self.output.len() > self.options.outbound_bytes_max;
        state != State::Overflow && !overflows
    }

    /// When this connection has been too slow.
    fn deadline(&self) -> Instant {
        const FAR: Duration = Duration::from_hours(24);
        if !self.output.is_empty() {
            return self.last_write + self.options.write_timeout;
        }
        if self.ending.is_some() {
            return self.last_read + FAR;
        }
        if !self.session.is_open() {
            return self.began + self.options.handshake_timeout;
        }
        self.last_read.max(self.last_write)
            + if self.in_flight == 0 {
                self.options.idle_timeout
            } else {
                FAR
            }
    }

    fn end(&mut self, reason: &'static str, answers: bool) {
        self.ending = Some(Ending { reason, answers });
        self.input = Incoming::default();
    }

    fn wants_read(&self) -> bool {
        self.ending.is_none()
            && self.waiting.is_none()
            && self.in_flight < self.options.calls_in_flight_max
            && self.output.len() < self.options.outbound_bytes_pause
    }

    fn frame_bytes_max(&self) -> usize {
        if self.session.is_open() {
            self.options
                .frame_bytes_max
                .min(self.options.input.bytes_max())
        } else {
            self.options.handshake_frame_bytes_max
        }
    }

    /// True if a whole frame, or a bad length, is buffered and may be taken.
    fn can_process(&self) -> bool {
        self.wants_read() && !self.session.is_new() && self.input.has_frame(self.frame_bytes_max())
    }

    /// Makes room for the rest of the frame at hand, or for the next read, as far as the budget
    /// gives it: how many bytes may be read.
    fn make_room(&mut self) -> io::Result<(usize, Grant)> {
        let framed = !self.session.is_new();
        if framed {
            self.input.open_map()?;
        }
        let (held, room) = (self.input.len(), self.input.room(framed));
        let counted = if held < READ_BYTES { 0 } else { held + room };
        if counted > 0 {
            let grant = self.share.ask(counted);
            if grant != Grant::Given {
                return Ok((0, grant));
            }
        }
        self.share.keep(counted);
        Ok((room, Grant::Given))
    }

    fn write(&mut self, written: io::Result<usize>) -> io::Result<()> {
        match written {
            Ok(count) => {
                self.output.advance(count);
                self.last_write = Instant::now();
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Takes frames until the buffer or a limit ends.
    fn process(&mut self) {
        self.hand_over();
        if self.session.is_new() && self.ending.is_none() {
            let Some(preamble) = read_preamble(&self.input.small) else {
                return;
            };
            self.input.small.advance(PREAMBLE_BYTES);
            let mut own = BytesMut::new();
            let input = self.session.on_preamble(preamble, &mut own, nonce);
            self.on_input(input, &own);
        }
        while self.wants_read() {
            let max = self.frame_bytes_max();
            match self.input.next_frame(max) {
                Ok(None) => return,
                Ok(Some(frame)) => {
                    let mut own = BytesMut::new();
                    let input = self.session.on_frame(frame, &mut own);
                    self.on_input(input, &own);
                }
                Err(e) => {
                    tracing::warn!(peer = %self.peer, error = %e, "bad frame");
                    self.end("bad frame", false);
                }
            }
        }
    }

    /// Does what the session says; its `own` answers go out after those given before.
    fn on_input(&mut self, input: Input, own: &BytesMut) {
        if !own.is_empty() {
            self.outbox.take(&mut self.output);
            self.output.extend_from_slice(own);
        }
        match input {
            Input::Nothing => {}
            Input::Close => self.end("fatal answer", false),
            Input::Call(caller, request) => self.call(&caller, request),
        }
    }

    /// Hands a call over as soon as there is room for its message, which takes more than its bytes.
    fn hand_over(&mut self) {
        let Some(call) = self.waiting.take() else {
            return;
        };
        let Waiting {
            caller,
            call,
            reply,
            bytes,
        } = call;
        let grant = match bytes {
            0 => Grant::Given,
            _ => self.share.ask(self.input.len() + bytes),
        };
        match grant {
            Grant::Given => self.service.call(&caller, call, reply),
            Grant::Leave => reply.err(RemoteException::too_large()),
            Grant::Wait => {
                self.waiting = Some(Waiting {
                    caller,
                    call,
                    reply,
                    bytes,
                });
            }
        }
    }

    fn call(&mut self, caller: &Arc<Caller>, request: Request) {
        self.in_flight += 1;
        let Request {
            call_id,
            client_id,
            retry_count,
            rest,
        } = request;
        let reply = self.outbox.replier(ResponseTo {
            call_id,
            client_id,
            retry_count,
        });
        let call = match read_call(&rest) {
            Ok(body) => Call {
                protocol: body.header.declaring_class_protocol_name,
                version: body.header.client_protocol_version,
                method: body.header.method_name,
                body: body.body,
            },
            Err(e) => return reply.err(RemoteException::invalid_request(&e)),
        };
        let Some((call, reply)) = meta::dispatch(self.service.protocols(), call, reply) else {
            return;
        };
        let length = call.body.len();
        let decoded = match length {
            0..DECODED_UNSEEN_BYTES => Some(0),
            _ => decoded_bytes(&call.body, self.options.input.bytes_max()).map(|d| d + length),
        };
        let Some(bytes) = decoded else {
            tracing::warn!(peer = %self.peer, length, "a message too large to decode");
            return reply.err(RemoteException::too_large());
        };
        self.waiting = Some(Waiting {
            caller: Arc::clone(caller),
            call,
            reply,
            bytes,
        });
        self.hand_over();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// Fresh text for a challenge: 30 random bytes, 40 characters as a stock server's.
fn nonce() -> String {
    base64::engine::general_purpose::STANDARD.encode(rand::random::<[u8; 30]>())
}

/// Says goodbye and waits until the peer has read it.
async fn linger(mut stream: TcpStream, wait: Duration) {
    let goodbye = async {
        stream.shutdown().await?;
        let mut sink = [0_u8; 4096];
        while stream.read(&mut sink).await? > 0 {}
        io::Result::Ok(())
    };
    // The peer is done with whatever happens here; a reset or a timeout changes nothing.
    if !matches!(timeout(wait, goodbye).await, Ok(Ok(()))) {
        tracing::trace!("peer did not close");
    }
}
