//! Lists of properties in a frame.

use core::iter::FusedIterator;

use crate::epc::Epc;
use crate::error::FrameError;

/// A property and its value. The value is empty in read requests, refused reads and successful writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Property<'a> {
    /// Which property.
    pub epc: Epc,
    /// Its value, 0 to 255 bytes.
    pub edt: &'a [u8],
}

/// A list of properties: EPC, PDC, EDT of each. Its lengths have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Properties<'a> {
    bytes: &'a [u8],
    count: u8,
}

impl<'a> Properties<'a> {
    /// Checks a list of `count` properties at the start of `bytes`; returns it and the remaining bytes.
    pub(crate) fn split(count: u8, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), FrameError> {
        let mut rest = bytes;
        for _ in 0..count {
            let [_, pdc, values @ ..] = rest else { return Err(FrameError::Truncated("list of properties")) };
            rest = values.get(usize::from(*pdc)..).ok_or(FrameError::Truncated("property's value"))?;
        }
        Ok((Self { bytes: &bytes[..bytes.len() - rest.len()], count }, rest))
    }

    /// The number of properties, at most 255.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The properties in their order.
    pub fn iter(&self) -> PropertiesIter<'a> {
        PropertiesIter { rest: self.bytes, left: self.len() }
    }

    /// The first property with this code. The search is linear.
    pub fn find(&self, epc: Epc) -> Option<Property<'a>> {
        self.iter().find(|property| property.epc == epc)
    }

    /// The encoded list.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl core::fmt::Debug for Properties<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Properties<'a> {
    type Item = Property<'a>;
    type IntoIter = PropertiesIter<'a>;

    fn into_iter(self) -> PropertiesIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Properties<'a> {
    type Item = Property<'a>;
    type IntoIter = PropertiesIter<'a>;

    fn into_iter(self) -> PropertiesIter<'a> {
        self.iter()
    }
}

/// The properties of a list in their order.
#[derive(Clone, Debug)]
pub struct PropertiesIter<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> PropertiesIter<'a> {
    /// Iterates over `count` properties whose lengths have been checked.
    #[cfg(feature = "std")]
    pub(crate) fn over(bytes: &'a [u8], count: usize) -> Self {
        Self { rest: bytes, left: count }
    }
}

impl<'a> Iterator for PropertiesIter<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Property<'a>> {
        // Lengths were checked on construction.
        let [epc, pdc, values @ ..] = self.rest else { return None };
        let (edt, rest) = values.split_at_checked(usize::from(*pdc))?;
        (self.rest, self.left) = (rest, self.left.saturating_sub(1));
        Some(Property { epc: Epc(*epc), edt })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for PropertiesIter<'_> {}
impl FusedIterator for PropertiesIter<'_> {}
