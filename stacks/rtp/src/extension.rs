//! Elements of the header extension ([RFC 8285](https://www.rfc-editor.org/rfc/rfc8285)).
//!
//! ```text
//!   one-byte form, profile 0xBEDE            two-byte form, profile 0x1000 to 0x100F
//!  0               1                         0               1               2
//!  0 1 2 3 4 5 6 7 8 9 ..                    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 ..
//! +-------+-------+-------                  +---------------+---------------+------
//! |  ID   | len-1 | data                    |      ID       |    length     | data
//! +-------+-------+-------                  +---------------+---------------+------
//! ```

use crate::bytes::Cursor;

/// Profile of the one-byte form.
const ONE_BYTE: u16 = 0xbede;
/// Profile of the two-byte form; its low four bits are application-specific.
const TWO_BYTE: u16 = 0x1000;
/// The identifier that ends the elements of the one-byte form (section 4.2).
const STOP: u8 = 15;
/// Maximum length of an element in the one-byte form.
const ONE_BYTE_DATA_MAX: usize = 16;

/// An element. The session defines the meaning of `id` (SDP `a=extmap`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Element<'a> {
    /// Identifier: 1 to 14, or 1 to 255 in the two-byte form.
    pub id: u8,
    /// Data: 1 to 16 bytes, or 0 to 255 in the two-byte form.
    pub data: &'a [u8],
}

/// The elements of an extension. Iteration ends at a truncated element and at identifier 15 of the one-byte form. Extensions
/// of other profiles have no elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements<'a> {
    form: Form,
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    pub(crate) fn new(profile: u16, data: &'a [u8]) -> Self {
        match profile {
            ONE_BYTE => Self { form: Form::OneByte, rest: data },
            _ if profile & 0xfff0 == TWO_BYTE => Self { form: Form::TwoByte, rest: data },
            _ => Self { form: Form::OneByte, rest: &[] },
        }
    }

    /// Identifier and length of the next element, and the bytes after them; `None` at the end.
    fn head(&self) -> Option<(u8, usize, &'a [u8])> {
        match (self.form, self.rest) {
            (Form::OneByte, [head, rest @ ..]) if head >> 4 != STOP => {
                Some((head >> 4, usize::from(head & 0x0f) + 1, rest))
            }
            (Form::TwoByte, [id, length, rest @ ..]) => Some((*id, usize::from(*length), rest)),
            _ => None,
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        // Padding bytes are 0 in both forms (section 4.1.2).
        let padding = self.rest.iter().take_while(|byte| **byte == 0).count();
        self.rest = &self.rest[padding..];
        let next = self.head().and_then(|(id, length, rest)| {
            let (data, rest) = rest.split_at_checked(length)?;
            // Identifier 0 with a length is reserved in the one-byte form and must be ignored (section 4.2).
            Some((Element { id, data }, rest)).filter(|_| id != 0)
        });
        let Some((element, rest)) = next else {
            self.rest = &[];
            return None;
        };
        self.rest = rest;
        Some(element)
    }
}

/// The form in which elements are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    OneByte,
    TwoByte,
}

impl Form {
    /// Selects the shorter form that can represent all elements; `None` without elements.
    pub(crate) fn select(elements: &[Element<'_>]) -> Option<Self> {
        let is_short = |element: &Element<'_>| {
            (1..STOP).contains(&element.id) && (1..=ONE_BYTE_DATA_MAX).contains(&element.data.len())
        };
        match elements {
            [] => None,
            _ if elements.iter().all(is_short) => Some(Self::OneByte),
            _ => Some(Self::TwoByte),
        }
    }

    pub(crate) fn profile(self) -> u16 {
        match self {
            Self::OneByte => ONE_BYTE,
            Self::TwoByte => TWO_BYTE,
        }
    }

    /// Length of the elements without padding.
    pub(crate) fn length(self, elements: &[Element<'_>]) -> usize {
        let head = match self {
            Self::OneByte => 1,
            Self::TwoByte => 2,
        };
        elements.iter().map(|element| head + element.data.len()).sum()
    }

    /// Writes the elements and pads them to words of 32 bits. The caller has checked their lengths.
    pub(crate) fn write(self, elements: &[Element<'_>], out: &mut Cursor<'_>) -> Option<()> {
        let start = out.length();
        for element in elements {
            let length = element.data.len() as u8;
            match self {
                Self::OneByte => out.u8(element.id << 4 | (length - 1))?,
                Self::TwoByte => out.bytes(&[element.id, length])?,
            }
            out.bytes(element.data)?;
        }
        out.align_from(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_parsed_from_arbitrary_bytes() {
        for (profile, data, expected) in [
            (ONE_BYTE, &[0x10, 7, 0, 0][..], &[(1, &[7][..])][..]),
            (ONE_BYTE, &[0, 0x10, 7, 0], &[(1, &[7])]),
            (ONE_BYTE, &[0x10, 7, 0xf0, 8, 0x20, 9, 0, 0], &[(1, &[7])]),
            (ONE_BYTE, &[0x10, 7, 0x23, 1], &[(1, &[7])]),
            (ONE_BYTE, &[0x01, 7, 7, 0x20, 9], &[]),
            (0x1005, &[1, 0, 2, 1, 9, 0, 0, 0], &[(1, &[]), (2, &[9])]),
            (0x1000, &[15, 1, 9, 0], &[(15, &[9])]),
            (0x1000, &[1, 2, 9], &[]),
            (0x1000, &[1], &[]),
            (0x2000, &[1, 0, 2, 1], &[]),
            (ONE_BYTE, &[], &[]),
        ] {
            let found: Vec<_> =
                Elements::new(profile, data).map(|element| (element.id, element.data)).collect();
            assert_eq!(found, expected, "{profile:#x} {data:?}");
        }
    }
}
