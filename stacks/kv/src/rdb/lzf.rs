//! LZF, the compression of strings in RDB: literal runs and back references.
//!
//! A control byte below 32 precedes a literal run of that many bytes plus one. In any other control byte, the
//! upper three bits are the length of a back reference minus two (7: another byte is added). The other bits
//! and the next byte are its distance minus one.

/// Bytes of a literal run.
const RUN_MAX: usize = 32;
/// Bytes of a back reference.
const COPY_MAX: usize = 264;
/// Distance of a back reference.
const BACK_MAX: usize = 1 << 13;
/// Size of the table of recent positions in bits; it grows with the string within these limits.
const TABLE_BITS: std::ops::RangeInclusive<u32> = 6..=14;

/// Upper bound of the decompressed length; a larger claim is damage.
pub(super) fn longest(compressed: usize) -> usize {
    compressed.saturating_mul(COPY_MAX)
}

/// Appends the decompressed bytes; `None` if their number is not `length`.
pub(super) fn decompress(input: &[u8], length: usize, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    let mut rest = input;
    while let Some((control, after)) = rest.split_first() {
        let control = usize::from(*control);
        if control < RUN_MAX {
            let (run, after) = after.split_at_checked(control + 1)?;
            out.extend_from_slice(run);
            rest = after;
        } else {
            let long = usize::from(control >> 5 == 7);
            let (head, after) = after.split_at_checked(1 + long)?;
            let count = (control >> 5) + 2 + usize::from(head[0]) * long;
            let back = ((control & 0x1f) << 8) + usize::from(head[long]) + 1;
            rest = after;
            let from = out.len().checked_sub(back).filter(|from| *from >= start)?;
            // The ranges may overlap.
            for at in from..from + count {
                out.push(out[at]);
            }
        }
        if out.len() - start > length {
            return None;
        }
    }
    (out.len() - start == length).then_some(())
}

/// Compresses strings and reuses its table.
#[derive(Debug, Default)]
pub(super) struct Compressor {
    /// The last position of three bytes with this hash, plus one.
    table: Vec<u32>,
}

impl Compressor {
    /// Appends the compressed string; `false`, without output, unless this saves at least four bytes.
    pub(super) fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let bits = input.len().max(1).ilog2().clamp(*TABLE_BITS.start(), *TABLE_BITS.end());
        self.table.clear();
        self.table.resize(1 << bits, 0);
        let (mut at, mut literal) = (0, 0);
        while at + 2 < input.len() && out.len() - start + (at - literal) + 4 < input.len() {
            let place = &mut self.table[hash(&input[at..at + 3], bits)];
            let previous = std::mem::replace(place, at as u32 + 1) as usize;
            let Some(from) = previous.checked_sub(1).filter(|from| at - from <= BACK_MAX) else {
                at += 1;
                continue;
            };
            let same =
                input[from..].iter().zip(&input[at..]).take(COPY_MAX).take_while(|(a, b)| a == b).count();
            if same < 3 {
                at += 1;
                continue;
            }
            run(&input[literal..at], out);
            copy(at - from, same, out);
            at += same;
            literal = at;
        }
        run(&input[literal..], out);
        let shorter = out.len() - start + 4 <= input.len();
        if !shorter {
            out.truncate(start);
        }
        shorter
    }
}

fn hash(three: &[u8], bits: u32) -> usize {
    let value = u32::from(three[0]) | u32::from(three[1]) << 8 | u32::from(three[2]) << 16;
    (value.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// Writes literal runs.
fn run(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(RUN_MAX) {
        out.push(part.len() as u8 - 1);
        out.extend_from_slice(part);
    }
}

fn copy(back: usize, count: usize, out: &mut Vec<u8>) {
    let (back, count) = (back - 1, count - 2);
    let high = (back >> 8) as u8;
    if count < 7 {
        out.push((count as u8) << 5 | high);
    } else {
        out.extend([7 << 5 | high, (count - 7) as u8]);
    }
    out.push(back as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_round_trips() {
        let mut random = crate::random::Random::new(3);
        let mut compressor = Compressor::default();
        for length in [0, 1, 4, 20, 21, 264, 300, 5000, 40_000] {
            for letters in [1, 2, 5, 256] {
                let text: Vec<u8> = (0..length).map(|_| random.below(letters) as u8).collect();
                let mut out = b"before".to_vec();
                if compressor.compress(&text, &mut out) {
                    let mut back = b"before too".to_vec();
                    assert_eq!(decompress(&out[6..], length, &mut back), Some(()));
                    assert!(back[10..] == text && out.len() - 6 <= length - 4);
                    assert_eq!(decompress(&out[6..], length + 1, &mut Vec::new()), None);
                    assert_eq!(decompress(&out[6..], length - 1, &mut Vec::new()), None);
                } else {
                    assert_eq!(out, b"before");
                    assert!(length < 24 || letters == 256, "{length} bytes of {letters}");
                }
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        // A reference before the beginning; a truncated run; a reference without its second byte.
        for bytes in [&[0x20, 0][..], &[5, 1, 2], &[0, 1, 0x20], &[0, 1, 0xe0]] {
            assert_eq!(decompress(bytes, 100, &mut b"something before".to_vec()), None, "{bytes:?}");
        }
    }
}
