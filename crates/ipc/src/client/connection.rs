//! The task of a client's connection: requests out, responses to their callers.
//! May touch: the socket.
//! Must not: decode a response's message, or outlive its `Client`.

use std::io;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::{Broken, Shared};
use crate::codec::{next_frame, read_response};

/// Room made for a read.
const READ_BYTES: usize = 8 * 1024;

/// Runs until the connection ends, then tells every caller why.
pub(super) async fn run(
    stream: TcpStream,
    input: BytesMut,
    shared: Arc<Shared>,
    frame_bytes_max: usize,
) {
    let Err(broken) = serve(stream, input, &shared, frame_bytes_max).await;
    tracing::debug!(?broken, "connection to server ended");
    shared.break_off(broken);
}

async fn serve(
    mut stream: TcpStream,
    mut input: BytesMut,
    shared: &Shared,
    frame_bytes_max: usize,
) -> Result<std::convert::Infallible, Broken> {
    let (mut reader, writer) = stream.split();
    let mut output = BytesMut::new();
    loop {
        while let Some(frame) =
            next_frame(&mut input, frame_bytes_max).map_err(|e| Broken::Protocol(e.to_string()))?
        {
            shared.on_reply(read_response(frame).map_err(Broken::Protocol)?)?;
        }
        if output.is_empty() {
            std::mem::swap(&mut output, &mut shared.lock().output);
        }
        if !output.is_empty() {
            match writer.try_write(&output) {
                Ok(count) => output.advance(count),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(broken(&e)),
            }
        }
        input.reserve(READ_BYTES);
        tokio::select! {
            read = reader.read_buf(&mut input) => match read {
                Ok(0) => return Err(Broken::Io(io::ErrorKind::UnexpectedEof, "server closed the connection".into())),
                Ok(_) => {}
                Err(e) => return Err(broken(&e)),
            },
            ready = writer.writable(), if !output.is_empty() => ready.map_err(|e| broken(&e))?,
            () = shared.wake.notified(), if output.is_empty() => {}
        }
    }
}

fn broken(e: &io::Error) -> Broken {
    Broken::Io(e.kind(), e.to_string())
}
