//! Lengths and strings in the RDB format.

use std::borrow::Cow;

use super::error::{RdbFault, StepError};
use super::lzf::{self, Compressor};
use crate::limits::STRING_BYTES_MAX;
use crate::number;

/// The two highest bits of a length's first byte select its encoding.
const BITS_14: u8 = 0b01;
const BITS_32: u8 = 0x80;
const BITS_64: u8 = 0x81;
/// A special encoding: an integer of 8, 16 or 32 bits, or a compressed string.
const SPECIAL: u8 = 0b11;
const LZF: u8 = 3;
/// Maximum length of an integer in short form, with its sign.
const INTEGER_TEXT_MAX: usize = 11;
/// Shorter strings are not compressed.
const COMPRESSED_MIN: usize = 21;

/// A cursor over incomplete input.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

/// A length or special encoding.
enum Length {
    Bytes(u64),
    Special(u8),
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], StepError> {
        let end = self.at.checked_add(count).ok_or(StepError::Partial)?;
        let taken = self.bytes.get(self.at..end).ok_or(StepError::Partial)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], StepError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, StepError> {
        Ok(self.array::<1>()?[0])
    }

    fn length_or_special(&mut self) -> Result<Length, StepError> {
        let first = self.byte()?;
        Ok(match first >> 6 {
            0b00 => Length::Bytes(u64::from(first)),
            BITS_14 => Length::Bytes(u64::from(first & 0x3f) << 8 | u64::from(self.byte()?)),
            SPECIAL => Length::Special(first & 0x3f),
            _ if first == BITS_32 => Length::Bytes(u64::from(u32::from_be_bytes(self.array()?))),
            _ if first == BITS_64 => Length::Bytes(u64::from_be_bytes(self.array()?)),
            _ => return Err(RdbFault::Damaged("an invalid length").into()),
        })
    }

    /// Reads a length or count.
    pub(super) fn length(&mut self) -> Result<u64, StepError> {
        match self.length_or_special()? {
            Length::Bytes(length) => Ok(length),
            Length::Special(_) => Err(RdbFault::Damaged("a string instead of a number").into()),
        }
    }

    /// Reads a string; integers are converted to text.
    pub(super) fn string(&mut self) -> Result<Cow<'a, [u8]>, StepError> {
        let integer = |value: i32| Cow::Owned(itoa::Buffer::new().format(value).as_bytes().to_vec());
        match self.length_or_special()? {
            Length::Bytes(length) => Ok(Cow::Borrowed(self.take(bounded(length)?)?)),
            Length::Special(0) => Ok(integer(i32::from(i8::from_le_bytes(self.array()?)))),
            Length::Special(1) => Ok(integer(i32::from(i16::from_le_bytes(self.array()?)))),
            Length::Special(2) => Ok(integer(i32::from_le_bytes(self.array()?))),
            Length::Special(LZF) => {
                let (compressed, length) = (bounded(self.length()?)?, bounded(self.length()?)?);
                let input = self.take(compressed)?;
                let damaged = RdbFault::Damaged("a damaged compressed string");
                if length > lzf::longest(input.len()) {
                    return Err(damaged.into());
                }
                let mut out = Vec::with_capacity(length);
                lzf::decompress(input, length, &mut out).ok_or(damaged)?;
                Ok(Cow::Owned(out))
            }
            Length::Special(_) => Err(RdbFault::Damaged("an invalid string encoding").into()),
        }
    }
}

fn bounded(length: u64) -> Result<usize, RdbFault> {
    let fits = usize::try_from(length).ok().filter(|length| *length <= STRING_BYTES_MAX);
    fits.ok_or(RdbFault::TooLong(length))
}

pub(super) fn write_length(length: u64, out: &mut Vec<u8>) {
    if length < 1 << 6 {
        out.push(length as u8);
    } else if length < 1 << 14 {
        out.extend((length as u16 | 1 << 14).to_be_bytes());
    } else if let Ok(length) = u32::try_from(length) {
        out.push(BITS_32);
        out.extend(length.to_be_bytes());
    } else {
        out.push(BITS_64);
        out.extend(length.to_be_bytes());
    }
}

pub(super) fn write_string(text: &[u8], compressor: Option<&mut Compressor>, out: &mut Vec<u8>) {
    let integer = if text.len() <= INTEGER_TEXT_MAX { number::integer(text) } else { None };
    if let Some(value) = integer.and_then(|value| i32::try_from(value).ok()) {
        if let Ok(value) = i8::try_from(value) {
            out.extend([SPECIAL << 6, value as u8]);
        } else if let Ok(value) = i16::try_from(value) {
            out.push(SPECIAL << 6 | 1);
            out.extend(value.to_le_bytes());
        } else {
            out.push(SPECIAL << 6 | 2);
            out.extend(value.to_le_bytes());
        }
        return;
    }
    if let Some(compressor) = compressor.filter(|_| text.len() >= COMPRESSED_MIN) {
        let mut compressed = Vec::new();
        if compressor.compress(text, &mut compressed) {
            out.push(SPECIAL << 6 | LZF);
            write_length(compressed.len() as u64, out);
            write_length(text.len() as u64, out);
            return out.append(&mut compressed);
        }
    }
    write_length(text.len() as u64, out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_in_chunks() {
        let texts: &[&[u8]] = &[
            b"",
            b"a",
            b"0",
            b"-1",
            b"127",
            b"128",
            b"-128",
            b"-129",
            b"32767",
            b"32768",
            b"2147483647",
            b"2147483648",
            b"-2147483648",
            b"-2147483649",
            b"007",
            b"+1",
            &[0xff; 63],
            &[b'x'; 64],
            &[b'y'; 20_000],
        ];
        for text in texts {
            for compressed in [false, true] {
                let mut out = Vec::new();
                write_string(text, Some(&mut Compressor::default()).filter(|_| compressed), &mut out);
                let mut cursor = Cursor::new(&out);
                assert_eq!((cursor.string().as_deref(), cursor.at), (Ok(*text), out.len()));
                for cut in 0..out.len().min(80) {
                    assert_eq!(
                        Cursor::new(&out[..cut]).string(),
                        Err(StepError::Partial),
                        "{cut} of {out:?}"
                    );
                }
            }
        }
        for length in [0, 63, 64, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            write_length(length, &mut out);
            assert_eq!(Cursor::new(&out).length(), Ok(length));
        }
    }

    #[test]
    fn lengths_are_checked_before_allocating() {
        for (bytes, fault) in [
            (&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0][..], RdbFault::TooLong(0xff << 56)),
            (&[0x80, 0xff, 0, 0, 0], RdbFault::TooLong(0xff << 24)),
            (&[0xc3, 1, 0x80, 0x10, 0, 0, 0, 0], RdbFault::Damaged("a damaged compressed string")),
            (&[0xc4], RdbFault::Damaged("an invalid string encoding")),
            (&[0x82], RdbFault::Damaged("an invalid length")),
        ] {
            assert_eq!(Cursor::new(bytes).string(), Err(StepError::Fault(fault)), "{bytes:?}");
        }
    }
}
