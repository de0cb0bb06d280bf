//! Quantisation tables, including those of RFC 2435 section 4.2 and appendix A.

/// A quantisation table in zigzag order without zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuantTable([u16; 64]);

impl QuantTable {
    /// Creates a table from values in zigzag order; `None` if one is 0.
    pub fn new(values: [u16; 64]) -> Option<Self> {
        values.iter().all(|value| *value > 0).then_some(Self(values))
    }

    /// The values, in zigzag order.
    pub fn values(&self) -> &[u16; 64] {
        &self.0
    }

    /// Whether a value needs 16 bits.
    pub fn is_wide(&self) -> bool {
        self.0.iter().any(|value| *value > 255)
    }

    /// Length of the encoded values.
    pub(crate) fn length(&self) -> usize {
        if self.is_wide() { 128 } else { 64 }
    }

    /// Parses values of one or two bytes; `None` if their number is not 64 or one is 0.
    pub(crate) fn read(bytes: &[u8], is_wide: bool) -> Option<Self> {
        let mut values = [0; 64];
        if bytes.len() != if is_wide { 128 } else { 64 } {
            return None;
        }
        for (at, value) in values.iter_mut().enumerate() {
            *value = match is_wide {
                true => u16::from_be_bytes([bytes[2 * at], bytes[2 * at + 1]]),
                false => u16::from(bytes[at]),
            };
        }
        Self::new(values)
    }

    /// Appends the values, with two bytes each if one exceeds 255.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        match self.is_wide() {
            true => out.extend(self.0.iter().flat_map(|value| value.to_be_bytes())),
            false => out.extend(self.0.iter().map(|value| *value as u8)),
        }
    }
}

/// The quantisation tables of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuantTables {
    /// The table for Y.
    pub luma: QuantTable,
    /// The table for Cb and Cr.
    pub chroma: QuantTable,
}

impl QuantTables {
    /// The tables for Q 1 to 99 (RFC 2435 section 4.2), which are those of libjpeg's quality 1 to 99. `None` for any other Q.
    pub fn computed(q: u8) -> Option<Self> {
        let scale = match u32::from(q) {
            q @ 1..50 => 5000 / q,
            q @ 50..=99 => 200 - 2 * q,
            _ => return None,
        };
        let scaled = |base: &[u8; 64]| {
            QuantTable(base.map(|value| ((u32::from(value) * scale + 50) / 100).clamp(1, 255) as u16))
        };
        Some(Self { luma: scaled(&LUMA), chroma: scaled(&CHROMA) })
    }

    /// The Q from 1 to 99 that implies these tables, if any. Costs about 100 divisions.
    pub fn to_q(&self) -> Option<u8> {
        let first = |q: u8| {
            let q = u32::from(q);
            let scale = if q < 50 { 5000 / q } else { 200 - 2 * q };
            ((u32::from(LUMA[0]) * scale + 50) / 100).clamp(1, 255) as u16
        };
        let fits = |q: &u8| first(*q) == self.luma.0[0] && Self::computed(*q).as_ref() == Some(self);
        (1..=99).find(fits)
    }

    /// Length of both encoded tables.
    pub(crate) fn length(&self) -> usize {
        self.luma.length() + self.chroma.length()
    }
}

/// Table K.1 of ITU-T T.81, in zigzag order.
const LUMA: [u8; 64] = [
    16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40,
    58, 51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103,
    104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
];

/// Table K.2 of ITU-T T.81, in zigzag order.
const CHROMA: [u8; 64] = [
    17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_tables_map_back_to_their_q() {
        // Miri is much slower.
        for q in (1..=99).step_by(if cfg!(miri) { 14 } else { 1 }) {
            let tables = QuantTables::computed(q).unwrap();
            assert_eq!(tables.to_q(), Some(q));
            let mut other = tables;
            other.chroma.0[63] += 1;
            assert_eq!(other.to_q(), None);
        }
        for q in [0, 100, 127, 128, 255] {
            assert_eq!(QuantTables::computed(q), None);
        }
        let q50 = QuantTables::computed(50).unwrap();
        assert_eq!((q50.luma.0, q50.chroma.0), (LUMA.map(u16::from), CHROMA.map(u16::from)));
    }

    #[test]
    fn encoded_tables_round_trip() {
        for (values, length) in [([255; 64], 64), ([256; 64], 128), ([1; 64], 64)] {
            let table = QuantTable::new(values).unwrap();
            let mut bytes = Vec::new();
            table.append(&mut bytes);
            assert_eq!((bytes.len(), table.length()), (length, length));
            assert_eq!(QuantTable::read(&bytes, table.is_wide()), Some(table));
            assert_eq!(QuantTable::read(&bytes[1..], table.is_wide()), None);
        }
        assert_eq!(QuantTable::new([0; 64]), None);
    }
}
