//! Variable-length integers, byte strings and Text of Hadoop's Writable format.
//! May touch: byte slices.
//! Must not: allocate by a length that was read before checking it against the bytes at hand.

use super::TokenError;

/// Appends `value` as `WritableUtils.writeVLong` does: one byte for -112 to 127, else a length byte and 1 to 8 big-endian bytes.
pub fn write_vlong(out: &mut Vec<u8>, value: i64) {
    if (-112..=127).contains(&value) {
        out.extend_from_slice(&i8::try_from(value).unwrap_or_default().to_be_bytes());
        return;
    }
    let (magnitude, base) = if value < 0 {
        (!value, -120_i8)
    } else {
        (value, -112_i8)
    };
    let bytes = magnitude.to_be_bytes();
    let skip = bytes.iter().take_while(|b| **b == 0).count();
    let body = bytes.get(skip..).unwrap_or_default();
    let count = i8::try_from(body.len()).unwrap_or_default();
    out.extend_from_slice(&(base - count).to_be_bytes());
    out.extend_from_slice(body);
}

/// Appends a byte string: vint length, bytes.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_vlong(out, i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    out.extend_from_slice(bytes);
}

/// Appends a `Text`: vint length in bytes, UTF-8.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    write_bytes(out, text.as_bytes());
}

/// Reads one vlong from the start of `bytes`: the value and how many bytes it took.
pub fn read_vlong(bytes: &[u8]) -> Result<(i64, usize), TokenError> {
    let mut reader = Reader::new(bytes);
    let value = reader.vlong("vint")?;
    Ok((value, bytes.len() - reader.remaining()))
}

/// Reads Writable values one after the other.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes not read yet.
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// What is not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], TokenError> {
        let short = || TokenError::Truncated {
            what,
            needed: count.saturating_sub(self.rest.len()),
        };
        let (head, tail) = self.rest.split_at_checked(count).ok_or_else(short)?;
        self.rest = tail;
        Ok(head)
    }

    /// The next byte.
    pub fn byte(&mut self, what: &'static str) -> Result<u8, TokenError> {
        self.take(1, what)
            .map(|bytes| bytes.first().copied().unwrap_or_default())
    }

    /// A vint or vlong.
    pub fn vlong(&mut self, what: &'static str) -> Result<i64, TokenError> {
        let first = i8::from_be_bytes([self.byte(what)?]);
        if first >= -112 {
            return Ok(i64::from(first));
        }
        let negative = first < -120;
        let count = if negative {
            -120 - i16::from(first)
        } else {
            -112 - i16::from(first)
        };
        let body = self.take(usize::from(count.unsigned_abs()), what)?;
        let magnitude = body
            .iter()
            .fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        let magnitude = i64::from_be_bytes(magnitude.to_be_bytes());
        Ok(if negative { !magnitude } else { magnitude })
    }

    /// A count of entries that take at least `entry_bytes_min` bytes each.
    pub fn count(
        &mut self,
        entry_bytes_min: usize,
        what: &'static str,
    ) -> Result<usize, TokenError> {
        let length = self.vlong(what)?;
        let max = self.rest.len() / entry_bytes_min.max(1);
        usize::try_from(length)
            .ok()
            .filter(|count| *count <= max)
            .ok_or(TokenError::Length { what, length, max })
    }

    /// A byte string: vint length, bytes.
    pub fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], TokenError> {
        let count = self.count(1, what)?;
        self.take(count, what)
    }

    /// A `Text`.
    pub fn text(&mut self, what: &'static str) -> Result<&'a str, TokenError> {
        std::str::from_utf8(self.bytes(what)?).map_err(|_| TokenError::Text { what })
    }
}

#[cfg(test)]
#[path = "vint_test.rs"]
mod tests;
