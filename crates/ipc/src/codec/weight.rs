//! How much memory a message may take once it is decoded, from its bytes alone.
//! May touch: byte slices.
//! Must not: reject what a decoder takes (it only counts), or take memory itself.

/// A message within a message: its structure and its place in a growing list.
const MESSAGE_BYTES: usize = 320;
/// A text or bytes: its head and its place in a growing list.
const LEAF_BYTES: usize = 64;
/// A number in a growing list.
const NUMBER_BYTES: usize = 8;
/// Numbers in a packed list take so many times their bytes; texts less.
const PACKED_TIMES: usize = 4;
/// Messages within messages that prost reads.
const DEPTH_MAX: usize = 100;

/// An upper bound for the memory of the decoded `message`, counted up to `bytes_max`; `None` if it
/// is more. Two bytes of a frame can name a message of hundreds, so a cap on frames is not enough.
pub fn decoded_bytes(message: &[u8], bytes_max: usize) -> Option<usize> {
    let mut weight = Weight {
        bytes: 0,
        bytes_max,
    };
    // Bytes that are no message are refused by the decoder where they end to be one.
    weight.message(message, 0)?;
    Some(weight.bytes)
}

struct Weight {
    bytes: usize,
    bytes_max: usize,
}

impl Weight {
    /// Counts a message; `Some(false)` if the bytes are none, `None` beyond the limit.
    fn message(&mut self, mut rest: &[u8], depth: usize) -> Option<bool> {
        while !rest.is_empty() {
            let Some(key) = varint(&mut rest) else {
                return Some(false);
            };
            let skipped = match key & 7 {
                0 => varint(&mut rest).map(|_| ()),
                1 => skip(&mut rest, 8).map(|_| ()),
                2 => {
                    let length = varint(&mut rest).and_then(|l| usize::try_from(l).ok());
                    let Some(content) = length.and_then(|l| skip(&mut rest, l)) else {
                        return Some(false);
                    };
                    self.content(content, depth)?;
                    continue;
                }
                // Groups are no fields of YARN's and are read over, their content like all else.
                3 | 4 => Some(()),
                5 => skip(&mut rest, 4).map(|_| ()),
                _ => None,
            };
            if skipped.is_none() {
                return Some(false);
            }
            self.add(NUMBER_BYTES)?;
        }
        Some(true)
    }

    /// Counts what stands behind a length: a message if it can be one.
    fn content(&mut self, content: &[u8], depth: usize) -> Option<()> {
        let before = self.bytes;
        if depth < DEPTH_MAX && self.message(content, depth + 1)? {
            // A text that reads as a message of few fields is still a text.
            let inside = self.bytes - before;
            return self.add(MESSAGE_BYTES.max(content.len().saturating_sub(inside)));
        }
        self.bytes = before;
        self.add(LEAF_BYTES + content.len().saturating_mul(PACKED_TIMES))
    }

    fn add(&mut self, bytes: usize) -> Option<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        (self.bytes <= self.bytes_max).then_some(())
    }
}

fn skip<'b>(rest: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (skipped, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(skipped)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (index, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(index).ok()?)?;
        if byte & 0x80 == 0 {
            *rest = rest.get(index + 1..)?;
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
#[path = "weight_test.rs"]
mod tests;
