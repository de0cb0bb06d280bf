//! Redis' compact encodings of small collections: ziplist, listpack, intset, zipmap.
//!
//! Each is an iterator over its elements. An encoding whose length or end marker is inconsistent is damaged.

use super::RdbFault;

/// The end marker of all encodings except intset.
const LAST: u8 = 0xff;

/// An element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element<'a> {
    Text(&'a [u8]),
    Integer(i64),
}

impl Element<'_> {
    /// Passes the element's text to a function.
    pub(super) fn text<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::Text(text) => use_it(text),
            Self::Integer(value) => use_it(itoa::Buffer::new().format(*value).as_bytes()),
        }
    }
}

/// The elements of any of these encodings.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
    form: Form,
    /// Remaining elements, if known.
    left: Option<u64>,
    /// Bytes of the previous entry.
    before: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Ziplist,
    Listpack,
    /// Bytes per integer.
    Intset(usize),
    Zipmap {
        value: bool,
    },
}

type Entry<'a> = Result<Element<'a>, RdbFault>;

impl<'a> Elements<'a> {
    pub(super) fn ziplist(blob: &'a [u8]) -> Result<Self, RdbFault> {
        let damaged = RdbFault::Damaged("a damaged ziplist");
        // The length, the offset of the last entry, the count.
        let (head, rest) = blob.split_at_checked(10).ok_or(damaged)?;
        let count = u16::from_le_bytes([head[8], head[9]]);
        Self::list(blob.len(), head, rest, count, Form::Ziplist).ok_or(damaged)
    }

    pub(super) fn listpack(blob: &'a [u8]) -> Result<Self, RdbFault> {
        let damaged = RdbFault::Damaged("a damaged listpack");
        let (head, rest) = blob.split_at_checked(6).ok_or(damaged)?;
        let count = u16::from_le_bytes([head[4], head[5]]);
        Self::list(blob.len(), head, rest, count, Form::Listpack).ok_or(damaged)
    }

    fn list(length: usize, head: &[u8], rest: &'a [u8], count: u16, form: Form) -> Option<Self> {
        let says = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let (last, rest) = rest.split_last()?;
        // A count of this value or more is not stored.
        let left = (count != u16::MAX).then_some(u64::from(count));
        (says as usize == length && *last == LAST).then_some(Self { rest, form, left, before: 0 })
    }

    pub(super) fn intset(blob: &'a [u8]) -> Result<Self, RdbFault> {
        let damaged = RdbFault::Damaged("a damaged intset");
        let (head, rest) = blob.split_at_checked(8).ok_or(damaged)?;
        let bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let count = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let whole = matches!(bytes, 2 | 4 | 8) && count.checked_mul(bytes) == Some(rest.len());
        let elements = Self { rest, form: Form::Intset(bytes), left: Some(count as u64), before: 0 };
        whole.then_some(elements).ok_or(damaged)
    }

    pub(super) fn zipmap(blob: &'a [u8]) -> Result<Self, RdbFault> {
        let damaged = RdbFault::Damaged("a damaged zipmap");
        let (count, rest) = blob.split_first().ok_or(damaged)?;
        let (last, rest) = rest.split_last().ok_or(damaged)?;
        let left = (*count < 254).then_some(u64::from(*count) * 2);
        let form = Form::Zipmap { value: false };
        (*last == LAST).then_some(Self { rest, form, left, before: 0 }).ok_or(damaged)
    }

    /// The fault of this encoding.
    fn damaged(&self) -> RdbFault {
        RdbFault::Damaged(match self.form {
            Form::Ziplist => "a damaged ziplist",
            Form::Listpack => "a damaged listpack",
            Form::Intset(_) => "a damaged intset",
            Form::Zipmap { .. } => "a damaged zipmap",
        })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn integer(&mut self, bytes: usize) -> Option<Element<'a>> {
        let taken = self.take(bytes)?;
        let negative = taken.last().is_some_and(|high| high & 0x80 != 0);
        let mut all = if negative { [0xff; 8] } else { [0; 8] };
        all[..bytes].copy_from_slice(taken);
        Some(Element::Integer(i64::from_le_bytes(all)))
    }

    fn string(&mut self, length: usize) -> Option<Element<'a>> {
        self.take(length).map(Element::Text)
    }

    /// The length of the previous entry, then the type.
    fn ziplist_entry(&mut self) -> Option<Element<'a>> {
        let start = self.rest.len();
        let before = match self.byte()? {
            254 => self.u32()?,
            255 => return None,
            small => usize::from(small),
        };
        if before != self.before {
            return None;
        }
        let code = self.byte()?;
        let element = match code {
            0x00..=0x3f => self.string(usize::from(code)),
            0x40..=0x7f => {
                let low = self.byte()?;
                self.string(usize::from(code & 0x3f) << 8 | usize::from(low))
            }
            0x80 => {
                let length = self.take(4)?;
                self.string(u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize)
            }
            0xc0 => self.integer(2),
            0xd0 => self.integer(4),
            0xe0 => self.integer(8),
            0xf0 => self.integer(3),
            0xfe => self.integer(1),
            0xf1..=0xfd => Some(Element::Integer(i64::from(code & 0xf) - 1)),
            _ => None,
        };
        self.before = start - self.rest.len();
        element
    }

    /// The type, then the length, for reverse iteration.
    fn listpack_entry(&mut self) -> Option<Element<'a>> {
        let start = self.rest.len();
        let code = self.byte()?;
        let element = match code {
            0x00..=0x7f => Some(Element::Integer(i64::from(code))),
            0x80..=0xbf => self.string(usize::from(code & 0x3f)),
            0xc0..=0xdf => {
                let value = i64::from(code & 0x1f) << 8 | i64::from(self.byte()?);
                Some(Element::Integer(if value < 1 << 12 { value } else { value - (1 << 13) }))
            }
            0xe0..=0xef => {
                let low = self.byte()?;
                self.string(usize::from(code & 0xf) << 8 | usize::from(low))
            }
            0xf0 => {
                let length = self.u32()?;
                self.string(length)
            }
            0xf1 => self.integer(2),
            0xf2 => self.integer(3),
            0xf3 => self.integer(4),
            0xf4 => self.integer(8),
            _ => None,
        }?;
        let bytes = start - self.rest.len();
        self.take(match bytes {
            0..128 => 1,
            128..16_383 => 2,
            16_383..2_097_151 => 3,
            2_097_151..268_435_455 => 4,
            _ => 5,
        })?;
        Some(element)
    }

    /// A length; for values a count of free bytes after it; then the text.
    fn zipmap_entry(&mut self, value: bool) -> Option<Element<'a>> {
        let length = match self.byte()? {
            254 => self.u32()?,
            255 => return None,
            small => usize::from(small),
        };
        let free = if value { self.byte()? } else { 0 };
        let element = self.string(length);
        self.take(usize::from(free))?;
        self.form = Form::Zipmap { value: !value };
        element
    }

    fn u32(&mut self) -> Option<usize> {
        let bytes = self.take(4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    /// Pairs of elements; an odd number is damage.
    pub(super) fn pairs(mut self) -> impl Iterator<Item = Result<(Element<'a>, Element<'a>), RdbFault>> {
        std::iter::from_fn(move || {
            let first = self.next()?;
            let second = self.next().unwrap_or(Err(RdbFault::Damaged("a field without a value")));
            Some(first.and_then(|first| Ok((first, second?))))
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let at_end = self.rest.is_empty();
        if at_end && self.left.is_none_or(|left| left == 0) {
            return None;
        }
        let element = match self.form {
            _ if at_end || self.left == Some(0) => None,
            Form::Ziplist => self.ziplist_entry(),
            Form::Listpack => self.listpack_entry(),
            Form::Intset(bytes) => self.integer(bytes),
            Form::Zipmap { value } => self.zipmap_entry(value),
        };
        self.left = self.left.map(|left| left.saturating_sub(1));
        if element.is_none() {
            // Iteration ends after damage.
            let damaged = self.damaged();
            (self.rest, self.left) = (&[], None);
            return Some(Err(damaged));
        }
        element.map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Decode = for<'a> fn(&'a [u8]) -> Result<Elements<'a>, RdbFault>;

    fn all(decode: Decode, blob: &[u8]) -> Result<Vec<Vec<u8>>, RdbFault> {
        decode(blob)?.map(|element| Ok(element?.text(<[u8]>::to_vec))).collect()
    }

    /// Encodings as Redis writes them, with their elements.
    const TABLE: &[(Decode, &[u8], &[&str])] = &[
        (
            |blob| Elements::ziplist(blob),
            b"\x0f\0\0\0\x0c\0\0\0\x02\0\x00\xf3\x02\xf6\xff",
            &["2", "5"],
        ),
        (
            |blob| Elements::ziplist(blob),
            b"\x24\0\0\0\x1f\0\0\0\x06\0\0\x01a\x03\xfe\x80\x03\xc0\x00\x80\x04\xf0\xff\xff\x7f\x05\xd0\0\0\0\x80\x06\x02bc\xff",
            &["a", "-128", "-32768", "8388607", "-2147483648", "bc"],
        ),
        (
            |blob| Elements::listpack(blob),
            b"\x20\0\0\0\x07\0\x7f\x01\x81a\x02\xdf\xff\x02\xc1\x00\x02\xf1\x00\x80\x03\xe0\x02bc\x04\xf2\xff\xff\x7f\x04\xff",
            &["127", "a", "-1", "256", "-32768", "bc", "8388607"],
        ),
        (|blob| Elements::intset(blob), b"\x02\0\0\0\x02\0\0\0\xff\xff\x05\0", &["-1", "5"]),
        (|blob| Elements::intset(blob), b"\x08\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\x80", &["-9223372036854775808"]),
        (|blob| Elements::zipmap(blob), b"\x01\x03foo\x05\x02value12\xff", &["foo", "value"]),
        (|blob| Elements::ziplist(blob), b"\x0b\0\0\0\x0a\0\0\0\0\0\xff", &[]),
    ];

    #[test]
    fn decodes_every_encoding() {
        for (decode, blob, elements) in TABLE {
            let expected = elements.iter().map(|text| text.as_bytes().to_vec()).collect();
            assert_eq!(all(*decode, blob), Ok(expected), "{blob:?}");
        }
    }

    #[test]
    fn corruption_is_an_error_or_another_value() {
        for (decode, blob, _) in TABLE {
            for cut in 0..blob.len() {
                assert!(all(*decode, &blob[..cut]).is_err(), "{cut} bytes of {blob:?}");
            }
            for at in 0..blob.len() {
                for bit in 0..8 {
                    let mut changed = blob.to_vec();
                    changed[at] ^= 1 << bit;
                    let _ = all(*decode, &changed);
                }
            }
        }
    }
}
