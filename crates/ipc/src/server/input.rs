//! Bytes of a connection that are not frames yet: a buffer for small ones, a map of its own for a
//! large one.
//! May touch: memory.
//! Must not: take memory for what a peer merely announced (a map's pages come with its bytes).

use bytes::{BufMut as _, Bytes, BytesMut};
use memmap2::MmapMut;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::codec::{FrameError, next_frame};

/// Room made for a read when no frame is known to need more.
pub(super) const READ_BYTES: usize = 4 * 1024;
/// Most that is read at once, and the frame from which on it gets a map.
const READ_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Input {
    /// Bytes in order; empty while there is a large frame.
    pub(super) small: BytesMut,
    large: Option<Large>,
}

/// A frame with its length in front. What is unmapped is the system's again at once, which what
/// is freed is not.
#[derive(Debug)]
struct Large {
    map: MmapMut,
    filled: usize,
}

impl Input {
    /// Bytes held.
    pub(super) fn len(&self) -> usize {
        let large = self.large.as_ref().map_or(0, |l| l.filled);
        self.small.len() + large
    }

    /// The next whole frame.
    pub(super) fn next_frame(&mut self, bytes_max: usize) -> Result<Option<Bytes>, FrameError> {
        match self.large.take_if(|l| l.filled == l.map.len()) {
            Some(large) => Ok(Some(Bytes::from_owner(large.map).slice(4..))),
            None if self.large.is_some() => Ok(None),
            None => next_frame(&mut self.small, bytes_max),
        }
    }

    /// True if [`next_frame`](Self::next_frame) has something to say.
    pub(super) fn has_frame(&self, bytes_max: usize) -> bool {
        match &self.large {
            Some(large) => large.filled == large.map.len(),
            None => self.small.first_chunk::<4>().is_some_and(|head| {
                let length = usize::try_from(i32::from_be_bytes(*head)).unwrap_or(usize::MAX);
                length > bytes_max || self.small.len() - 4 >= length
            }),
        }
    }

    /// How many bytes may be read next: up to the end of the frame at hand, but no more than have
    /// come already. Who only announces a large frame is given no room for it.
    pub(super) fn room(&self, framed: bool) -> usize {
        let held = self.len();
        let whole = self.whole().filter(|_| framed).unwrap_or(0);
        let most = held.clamp(READ_BYTES, READ_BYTES_MAX);
        let missing = whole.saturating_sub(held);
        match &self.large {
            Some(_) => missing.min(most),
            None => missing.clamp(READ_BYTES, most),
        }
    }

    /// Length of the frame at hand with its head.
    fn whole(&self) -> Option<usize> {
        if let Some(large) = &self.large {
            return Some(large.map.len());
        }
        let head = self.small.first_chunk::<4>()?;
        Some(
            usize::try_from(u32::from_be_bytes(*head))
                .ok()?
                .saturating_add(4),
        )
    }

    /// Gives a large frame, of no forbidden length, its map.
    pub(super) fn open_map(&mut self) -> std::io::Result<()> {
        let Some(whole) = self.whole().filter(|w| *w > READ_BYTES_MAX) else {
            return Ok(());
        };
        // Of a frame that is whole nothing more is read before it is taken.
        if self.large.is_some() || self.small.len() > whole {
            return Ok(());
        }
        let mut map = MmapMut::map_anon(whole)?;
        let filled = self.small.len();
        if let Some(start) = map.get_mut(..filled) {
            start.copy_from_slice(&self.small);
        }
        self.small = BytesMut::new();
        self.large = Some(Large { map, filled });
        Ok(())
    }

    /// Reads at most `room` bytes; nothing is lost when this is dropped before it is done.
    pub(super) async fn read(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
        room: usize,
    ) -> std::io::Result<usize> {
        let Some(large) = &mut self.large else {
            self.small.reserve(room);
            return from.read_buf(&mut (&mut self.small).limit(room)).await;
        };
        let end = large.map.len().min(large.filled + room);
        let free = large.map.get_mut(large.filled..end).unwrap_or_default();
        let count = from.read(free).await?;
        large.filled += count;
        Ok(count)
    }
}

#[cfg(test)]
#[path = "input_test.rs"]
mod tests;
