//! Frames: a 4-byte big-endian length, then that many bytes; inside, varint-delimited messages.
//! May touch: byte buffers.
//! Must not: reserve memory for a length that the peer merely announced.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// `ipc.maximum.data.length`: the largest frame that Hadoop reads.
pub const FRAME_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Why bytes are not a frame, or a frame's content not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The announced length is negative or over the cap.
    #[error("frame of {length} bytes: want 0 to {max}")]
    Length {
        /// Length as announced, as Java reads it.
        length: i32,
        /// The cap.
        max: usize,
    },
    /// A varint is longer than 5 bytes or does not end.
    #[error("bad varint length in frame")]
    Varint,
    /// A delimited message is longer than what is left of the frame.
    #[error("message of {length} bytes with {left} left in the frame")]
    Delimited {
        /// Announced length.
        length: usize,
        /// Bytes left.
        left: usize,
    },
}

/// Takes the next whole frame off `buffer`, or `None` until more bytes arrive.
pub fn next_frame(buffer: &mut BytesMut, bytes_max: usize) -> Result<Option<Bytes>, FrameError> {
    let Some(head) = buffer.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*head);
    let bad = || FrameError::Length {
        length,
        max: bytes_max,
    };
    let count = usize::try_from(length)
        .ok()
        .filter(|count| *count <= bytes_max)
        .ok_or_else(bad)?;
    if buffer.len() - 4 < count {
        return Ok(None);
    }
    buffer.advance(4);
    Ok(Some(buffer.split_to(count).freeze()))
}

/// Takes a varint-delimited message off the front of `bytes`.
pub fn split_delimited(bytes: &mut Bytes) -> Result<Bytes, FrameError> {
    let (length, used) = read_varint32(bytes)?;
    let left = bytes.len() - used;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > left {
        return Err(FrameError::Delimited { length, left });
    }
    bytes.advance(used);
    Ok(bytes.split_to(length))
}

/// A varint of at most 5 bytes and 31 bits, as `CodedInputStream.readRawVarint32` takes for lengths.
fn read_varint32(bytes: &[u8]) -> Result<(u32, usize), FrameError> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value)
                .ok()
                .filter(|v| *v <= i32::MAX.unsigned_abs());
            return value.map(|v| (v, index + 1)).ok_or(FrameError::Varint);
        }
    }
    Err(FrameError::Varint)
}

/// Leaves room for a frame's length; give the result to [`end_frame`].
pub fn begin_frame(out: &mut BytesMut) -> usize {
    let start = out.len();
    out.put_u32(0);
    start
}

/// Writes the length of the frame begun at `start`; over the cap of 2 GiB the frame is taken back.
pub fn end_frame(out: &mut BytesMut, start: usize) -> bool {
    let length = out.len().saturating_sub(start + 4);
    if let (Ok(length), Some(head)) = (i32::try_from(length), out.get_mut(start..start + 4)) {
        head.copy_from_slice(&length.to_be_bytes());
        return true;
    }
    out.truncate(start);
    false
}

#[cfg(test)]
#[path = "frame_test.rs"]
mod tests;
