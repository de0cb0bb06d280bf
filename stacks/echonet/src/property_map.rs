//! Property maps: which properties can be read, set, or are announced (Annex 1 of the consortium's APPENDIX on device objects).

use core::fmt;
use core::iter::FusedIterator;

use crate::epc::Epc;
use crate::error::PropertyMapError;
use crate::limits::{MAP_BYTES, MAP_LIST_MAX};

/// A set of property codes, 0x80 to 0xFF.
///
/// ```
/// use netdyno_echonet_core::{Epc, PropertyMap};
///
/// let map: PropertyMap = [Epc(0x80), Epc(0xD6)].into_iter().collect();
/// assert_eq!(map.encode().as_bytes(), [2, 0x80, 0xD6]);
/// assert_eq!(PropertyMap::decode(&[2, 0x80, 0xD6]), Ok(map));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PropertyMap(u128);

impl PropertyMap {
    /// No property.
    pub const EMPTY: Self = Self(0);

    /// Adds a property; returns whether the map now contains it. Codes below 0x80 are not added.
    pub fn insert(&mut self, epc: Epc) -> bool {
        self.0 |= bit(epc);
        self.contains(epc)
    }

    /// Removes a property.
    pub fn remove(&mut self, epc: Epc) {
        self.0 &= !bit(epc);
    }

    /// Whether the property is in the map.
    pub const fn contains(self, epc: Epc) -> bool {
        self.0 & bit(epc) != 0
    }

    /// How many properties there are, at most 128.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The properties, in ascending order.
    pub fn iter(self) -> PropertyMapIter {
        PropertyMapIter(self.0)
    }

    /// Decodes a map. Up to 15 properties are a list of codes, more are a bitmap of 16 bytes: bit B of byte
    /// N, both from 0, is the code 0x80 + 0x10 * B + N. In a bitmap, the bits take precedence over the count
    /// before it.
    ///
    /// Also accepts what some nodes send: bytes after the map's end, and a bitmap in place of a list (17
    /// bytes that are not a list of valid codes, with as many bits as the count says).
    ///
    /// # Errors
    ///
    /// It is too short, or lists a code below 0x80.
    pub fn decode(edt: &[u8]) -> Result<Self, PropertyMapError> {
        let (properties, rest) = edt.split_first().unwrap_or((&0, &[]));
        let count = usize::from(*properties);
        let expected = if count > MAP_LIST_MAX { MAP_BYTES } else { 1 + count };
        if edt.len() < expected {
            return Err(PropertyMapError::Length { properties: *properties, expected, bytes: edt.len() });
        }
        if count > MAP_LIST_MAX {
            return Ok(Self::from_bitmap(rest));
        }
        let codes = &rest[..count];
        let Some(wrong) = codes.iter().find(|code| **code < 0x80) else {
            return Ok(codes.iter().map(|code| Epc(*code)).collect());
        };
        let bitmap = Self::from_bitmap(rest);
        if edt.len() == MAP_BYTES && bitmap.len() == count {
            return Ok(bitmap);
        }
        Err(PropertyMapError::Code(Epc(*wrong)))
    }

    /// Decodes 16 bytes.
    fn from_bitmap(bytes: &[u8]) -> Self {
        let mut map = Self::EMPTY;
        for (column, byte) in bytes.iter().take(MAP_BYTES - 1).enumerate() {
            for row in (0..8).filter(|row| byte & 1 << row != 0) {
                map.0 |= 1 << (row * 16 + column);
            }
        }
        map
    }

    /// The map as a property's value.
    pub fn encode(self) -> EncodedPropertyMap {
        let mut bytes = [0; MAP_BYTES];
        bytes[0] = u8::try_from(self.len()).unwrap_or(u8::MAX);
        let length = if self.len() > MAP_LIST_MAX { MAP_BYTES } else { 1 + self.len() };
        for (index, epc) in self.iter().enumerate() {
            if length == MAP_BYTES {
                bytes[1 + usize::from(epc.0 & 0x0F)] |= 1 << (epc.0 >> 4 & 0x07);
            } else {
                bytes[1 + index] = epc.0;
            }
        }
        EncodedPropertyMap { bytes, length }
    }
}

/// The bit of a property; 0 for codes below 0x80.
const fn bit(epc: Epc) -> u128 {
    if epc.0 < 0x80 { 0 } else { 1 << (epc.0 & 0x7F) }
}

impl FromIterator<Epc> for PropertyMap {
    /// Codes below 0x80 are skipped.
    fn from_iter<I: IntoIterator<Item = Epc>>(codes: I) -> Self {
        Self(codes.into_iter().fold(0, |map, epc| map | bit(epc)))
    }
}

impl fmt::Debug for PropertyMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The properties of a map, in ascending order.
#[derive(Clone, Debug)]
pub struct PropertyMapIter(u128);

impl Iterator for PropertyMapIter {
    type Item = Epc;

    fn next(&mut self) -> Option<Epc> {
        let lowest = u8::try_from(self.0.trailing_zeros()).ok().filter(|lowest| *lowest < 128)?;
        self.0 &= self.0 - 1;
        Some(Epc(0x80 | lowest))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.count_ones() as usize, Some(self.0.count_ones() as usize))
    }
}

impl ExactSizeIterator for PropertyMapIter {}
impl FusedIterator for PropertyMapIter {}

/// A map as a property's value, without allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedPropertyMap {
    bytes: [u8; MAP_BYTES],
    length: usize,
}

impl EncodedPropertyMap {
    /// The value: 1 to 17 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
