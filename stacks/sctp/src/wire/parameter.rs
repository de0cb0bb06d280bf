//! Parameters: the type-length-value elements of INIT, RE-CONFIG and others, and of error causes ([RFC 9260
//! section 3.2.1](https://www.rfc-editor.org/rfc/rfc9260#section-3.2.1)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |             type              | length (with these 4 bytes)   |
//! +-------------------------------+-------------------------------+
//! |           value, padded with zeros to a multiple of 4         |
//! +---------------------------------------------------------------+
//! ```

use super::CHUNK_HEADER_BYTES;
use super::bytes::u16_at;
use super::cursor::Cursor;

/// A parameter without its padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Parameter type, or cause code.
    pub kind: u16,
    /// The bytes after the length.
    pub value: &'a [u8],
}

impl Parameter<'_> {
    /// For an unknown type: whether to process the parameters after it (highest bit).
    pub fn skips_if_unknown(&self) -> bool {
        self.kind & 0x8000 != 0
    }

    /// For an unknown type: whether to report it to the sender (second highest bit).
    pub fn reports_if_unknown(&self) -> bool {
        self.kind & 0x4000 != 0
    }

    pub(super) fn write(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.parameter(self.kind, |value| value.bytes(self.value))
    }
}

/// A sequence of parameters. Ends at the first one that is truncated or whose length is below 4.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters<'a> {
    rest: &'a [u8],
}

impl<'a> Parameters<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        let rest = std::mem::take(&mut self.rest);
        let header = rest.first_chunk::<CHUNK_HEADER_BYTES>()?;
        let length = usize::from(u16_at(header, 2));
        let value = rest.get(CHUNK_HEADER_BYTES..length)?;
        // The padding of the last one may be missing: it belongs to the chunk.
        self.rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Parameter { kind: u16_at(header, 0), value })
    }
}

/// Equal if they contain the same parameters.
impl PartialEq for Parameters<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for Parameters<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_end_where_they_are_cut_short() {
        for (bytes, expected) in [
            (&[][..], &[][..]),
            (&[0, 7, 0, 4], &[(7, 0)]),
            (&[0, 7, 0, 5, 1], &[(7, 1)]),
            (&[0, 7, 0, 5, 1, 0, 0, 0, 0, 8, 0, 4], &[(7, 1), (8, 0)]),
            (&[0, 7, 0, 4, 0, 8, 0], &[(7, 0)]),
            (&[0, 7, 0, 4, 0, 8, 0, 5], &[(7, 0)]),
            (&[0, 7, 0, 0, 0, 8, 0, 4], &[]),
            (&[0, 7, 0, 3, 0, 8, 0, 4], &[]),
            (&[0, 7, 0xff, 0xff], &[]),
        ] {
            let read: Vec<_> = Parameters::new(bytes).map(|p| (p.kind, p.value.len())).collect();
            assert_eq!(read, expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_two_high_bits_say_what_an_unknown_one_does() {
        for (kind, skips, reports) in
            [(0x3fff, false, false), (0x4000, false, true), (0x8000, true, false), (0xc000, true, true)]
        {
            let parameter = Parameter { kind, value: &[] };
            assert_eq!(parameter.skips_if_unknown(), skips, "{kind:#x}");
            assert_eq!(parameter.reports_if_unknown(), reports, "{kind:#x}");
        }
    }

    #[test]
    fn a_parameter_that_does_not_fit_changes_nothing() {
        let mut out = [0xff; 12];
        let mut cursor = Cursor::new(&mut out);
        let three = Parameter { kind: 7, value: &[1, 2, 3] };
        assert_eq!(three.write(&mut cursor), Some(()));
        assert_eq!(three.write(&mut cursor), None);
        assert_eq!(cursor.length(), 7);
        assert_eq!(Parameter { kind: 8, value: &[] }.write(&mut cursor), Some(()));
        assert_eq!(cursor.length(), 12);
        assert_eq!(out, [0, 7, 0, 7, 1, 2, 3, 0, 0, 8, 0, 4]);
    }
}
