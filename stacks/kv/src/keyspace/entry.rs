//! An entry of a table: a key and its value in 32 bytes, independent of the value's type.
//!
//! Short keys and values are stored inline, longer ones with the deadline in one allocation. Only lists,
//! hashes, sets, sorted sets and growing strings are separate objects.

use super::short::ShortString;
use super::weight::{Weigh as _, allocation_bytes};

/// Bytes of key and value that are stored inline.
pub(crate) const INLINE_BYTES: usize = 22;
/// The header of a packed key: its length, with the highest bit set if a deadline follows.
const HEAD_BYTES: usize = 4;
const DEADLINE_BYTES: usize = 8;
const HAS_DEADLINE: u32 = 1 << 31;
/// Strings above this size that are appended to grow in place.
const GROWING_BYTES: usize = 64;

/// Values other than short strings. A growing string is always one.
pub(crate) trait EntryValue: Clone {
    fn from_text(text: Vec<u8>) -> Self;
    fn text(&self) -> Option<&[u8]>;
    fn text_mut(&mut self) -> Option<&mut Vec<u8>>;
    /// Bytes on the heap.
    fn memory_bytes(&self) -> usize;
}

/// String values only.
impl EntryValue for Vec<u8> {
    fn from_text(text: Vec<u8>) -> Self {
        text
    }

    fn text(&self) -> Option<&[u8]> {
        Some(self)
    }

    fn text_mut(&mut self) -> Option<&mut Vec<u8>> {
        Some(self)
    }

    fn memory_bytes(&self) -> usize {
        self.capacity()
    }
}

/// An entry with string values.
pub(crate) type TextEntry = Entry<Vec<u8>>;

/// A value in its own allocation, with its key and deadline.
#[derive(Debug)]
struct Object<V> {
    key: ShortString,
    deadline: Option<u64>,
    value: V,
}

#[derive(Debug, Default)]
enum Body<V> {
    #[default]
    Vacant,
    Inline {
        value_len: u8,
        bytes: [u8; INLINE_BYTES],
    },
    /// Header, optional deadline, key, value.
    Packed(Box<[u8]>),
    Object(Box<Object<V>>),
}

/// A slot of a table, free or used. Aligned so that no slot spans two cache lines.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Entry<V> {
    hash: u32,
    /// Time or frequency of accesses: 24 bits, interpreted by the eviction policy.
    access: [u8; 3],
    /// Length of an inline key.
    key_len: u8,
    body: Body<V>,
}

impl<V> Default for Entry<V> {
    fn default() -> Self {
        Self { hash: 0, access: [0; 3], key_len: 0, body: Body::Vacant }
    }
}

impl<V: EntryValue> Entry<V> {
    pub(crate) fn text(hash: u32, key: &[u8], value: &[u8]) -> Self {
        let mut entry = Self { hash, ..Self::default() };
        entry.pack(key, value, None);
        entry
    }

    pub(crate) fn object(hash: u32, key: &[u8], value: V) -> Self {
        let body = Body::Object(Box::new(Object { key: ShortString::new(key), deadline: None, value }));
        Self { hash, body, ..Self::default() }
    }

    /// The same value under another key.
    pub(crate) fn renamed(self, hash: u32, key: &[u8]) -> Self {
        let (access, deadline) = (self.access, self.deadline());
        let mut entry = match self.body {
            Body::Object(mut object) => {
                object.key = ShortString::new(key);
                Self { hash, body: Body::Object(object), ..Self::default() }
            }
            _ => {
                let mut entry = Self { hash, ..Self::default() };
                entry.pack(key, self.string().unwrap_or_default(), deadline);
                entry
            }
        };
        entry.access = access;
        entry
    }

    /// A copy under another key.
    pub(crate) fn copied(&self, hash: u32, key: &[u8]) -> Self {
        let mut entry = match &self.body {
            Body::Object(object) => Self::object(hash, key, object.value.clone()),
            _ => Self::text(hash, key, self.string().unwrap_or_default()),
        };
        entry.access = self.access;
        entry.set_deadline(self.deadline());
        entry
    }

    #[inline]
    pub(crate) fn is_vacant(&self) -> bool {
        matches!(self.body, Body::Vacant)
    }

    #[inline]
    pub(crate) fn hash(&self) -> u32 {
        self.hash
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match &self.body {
            Body::Vacant => &[],
            Body::Inline { bytes, .. } => &bytes[..usize::from(self.key_len)],
            Body::Packed(blob) => {
                let (start, end, _) = packed(blob);
                &blob[start..end]
            }
            Body::Object(object) => object.key.as_slice(),
        }
    }

    /// The value if it is a string.
    #[inline]
    pub(crate) fn string(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Vacant => None,
            Body::Inline { value_len, bytes } => {
                let start = usize::from(self.key_len);
                Some(&bytes[start..start + usize::from(*value_len)])
            }
            Body::Packed(blob) => Some(&blob[packed(blob).1..]),
            Body::Object(object) => object.value.text(),
        }
    }

    /// The bytes of a string value, for changes in place.
    pub(crate) fn string_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.body {
            Body::Vacant => None,
            Body::Inline { value_len, bytes } => {
                let start = usize::from(self.key_len);
                Some(&mut bytes[start..start + usize::from(*value_len)])
            }
            Body::Packed(blob) => {
                let start = packed(blob).1;
                Some(&mut blob[start..])
            }
            Body::Object(object) => object.value.text_mut().map(Vec::as_mut_slice),
        }
    }

    /// A value that is not a short string.
    pub(crate) fn value(&self) -> Option<&V> {
        match &self.body {
            Body::Object(object) => Some(&object.value),
            _ => None,
        }
    }

    pub(crate) fn value_mut(&mut self) -> Option<&mut V> {
        match &mut self.body {
            Body::Object(object) => Some(&mut object.value),
            _ => None,
        }
    }

    /// Overwrites an inline string with another one that fits. Inline entries have no deadline and no heap
    /// memory.
    #[inline]
    pub(crate) fn overwrite_short(&mut self, value: &[u8]) -> bool {
        let Body::Inline { value_len, bytes } = &mut self.body else { return false };
        let start = usize::from(self.key_len);
        let Some(room) = bytes.get_mut(start..start + value.len()) else { return false };
        room.copy_from_slice(value);
        *value_len = value.len() as u8;
        true
    }

    /// Replaces any value by this string. The deadline is kept.
    pub(crate) fn set_string(&mut self, value: &[u8]) {
        match &mut self.body {
            Body::Inline { value_len, bytes } => {
                let start = usize::from(self.key_len);
                if start + value.len() <= INLINE_BYTES {
                    *value_len = value.len() as u8;
                    bytes[start..start + value.len()].copy_from_slice(value);
                    return;
                }
            }
            Body::Packed(blob) => {
                let start = packed(blob).1;
                if blob.len() == start + value.len() {
                    blob[start..].copy_from_slice(value);
                    return;
                }
            }
            _ => {}
        }
        let deadline = self.deadline();
        let old = Self { key_len: self.key_len, body: std::mem::take(&mut self.body), ..Self::default() };
        self.pack(old.key(), value, deadline);
    }

    /// Extends a string with zeros and returns its bytes; `None` for other types.
    pub(crate) fn grow_string(&mut self, length: usize) -> Option<&mut [u8]> {
        let current = self.string()?.len();
        if length > current {
            if !matches!(self.body, Body::Object(_)) && self.key().len() + length > GROWING_BYTES {
                let mut text = Vec::with_capacity(length);
                text.extend_from_slice(self.string()?);
                let (key, deadline) = (ShortString::new(self.key()), self.deadline());
                self.body = Body::Object(Box::new(Object { key, deadline, value: V::from_text(text) }));
            }
            match &mut self.body {
                Body::Object(object) => object.value.text_mut()?.resize(length, 0),
                _ => {
                    let mut text = self.string()?.to_vec();
                    text.resize(length, 0);
                    self.set_string(&text);
                }
            }
        }
        self.string_mut()
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<u64> {
        match &self.body {
            Body::Packed(blob) => packed(blob).2,
            Body::Object(object) => object.deadline,
            _ => None,
        }
    }

    pub(crate) fn set_deadline(&mut self, deadline: Option<u64>) {
        if let Body::Object(object) = &mut self.body {
            object.deadline = deadline;
        } else if self.deadline() != deadline {
            let old = Self { key_len: self.key_len, body: std::mem::take(&mut self.body), ..Self::default() };
            self.pack(old.key(), old.string().unwrap_or_default(), deadline);
        }
    }

    pub(crate) fn access(&self) -> u32 {
        let [low, middle, high] = self.access;
        u32::from_le_bytes([low, middle, high, 0])
    }

    pub(crate) fn set_access(&mut self, access: u32) {
        let [low, middle, high, _] = access.to_le_bytes();
        self.access = [low, middle, high];
    }

    /// Heap memory in addition to the slot, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.body {
            Body::Vacant | Body::Inline { .. } => 0,
            Body::Packed(blob) => allocation_bytes(blob.len()),
            Body::Object(object) => {
                allocation_bytes(size_of::<Object<V>>())
                    + object.key.heap_bytes()
                    + object.value.memory_bytes()
            }
        }
    }

    fn pack(&mut self, key: &[u8], value: &[u8], deadline: Option<u64>) {
        if deadline.is_none() && key.len() + value.len() <= INLINE_BYTES {
            let mut bytes = [0; INLINE_BYTES];
            bytes[..key.len()].copy_from_slice(key);
            bytes[key.len()..key.len() + value.len()].copy_from_slice(value);
            self.key_len = key.len() as u8;
            self.body = Body::Inline { value_len: value.len() as u8, bytes };
            return;
        }
        let extra = if deadline.is_some() { DEADLINE_BYTES } else { 0 };
        let mut blob = Vec::with_capacity(HEAD_BYTES + extra + key.len() + value.len());
        let flag = if deadline.is_some() { HAS_DEADLINE } else { 0 };
        blob.extend_from_slice(&(key.len() as u32 | flag).to_le_bytes());
        if let Some(deadline) = deadline {
            blob.extend_from_slice(&deadline.to_le_bytes());
        }
        blob.extend_from_slice(key);
        blob.extend_from_slice(value);
        self.body = Body::Packed(blob.into_boxed_slice());
    }
}

/// The start and end of a packed key, and the deadline.
fn packed(blob: &[u8]) -> (usize, usize, Option<u64>) {
    let mut head = [0; HEAD_BYTES];
    head.copy_from_slice(&blob[..HEAD_BYTES]);
    let head = u32::from_le_bytes(head);
    if head & HAS_DEADLINE == 0 {
        return (HEAD_BYTES, HEAD_BYTES + head as usize, None);
    }
    let mut deadline = [0; DEADLINE_BYTES];
    deadline.copy_from_slice(&blob[HEAD_BYTES..HEAD_BYTES + DEADLINE_BYTES]);
    let start = HEAD_BYTES + DEADLINE_BYTES;
    (start, start + (head & !HAS_DEADLINE) as usize, Some(u64::from_le_bytes(deadline)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_32_bytes() {
        assert_eq!(size_of::<TextEntry>(), 32);
        let entry = TextEntry::text(7, b"key:000000000001", b"abc");
        assert_eq!(
            (entry.key(), entry.string(), entry.heap_bytes()),
            (&b"key:000000000001"[..], Some(&b"abc"[..]), 0)
        );
    }

    #[test]
    fn every_representation_preserves_key_value_and_deadline() {
        for key_len in [0, 1, 16, 22, 23, 300] {
            for lengths in [[0, 3, 22], [3, 100, 2], [70_000, 1, 5]] {
                let key = vec![b'k'; key_len];
                let mut entry = TextEntry::text(1, &key, b"first");
                for (i, length) in lengths.into_iter().enumerate() {
                    let value = vec![b'v'; length];
                    entry.set_string(&value);
                    entry.set_deadline((i == 1).then_some(99));
                    assert_eq!((entry.key(), entry.string()), (&key[..], Some(&value[..])));
                    assert_eq!(entry.deadline(), (i == 1).then_some(99));
                    let longer = entry.grow_string(length + 50).map(|text| text.len());
                    assert_eq!((longer, entry.key()), (Some(length + 50), &key[..]));
                    assert_eq!(entry.deadline(), (i == 1).then_some(99));
                    let moved = entry.copied(2, b"other").renamed(3, b"third");
                    assert_eq!((moved.key(), moved.string()), (&b"third"[..], entry.string()));
                    assert_eq!(moved.deadline(), entry.deadline());
                }
            }
        }
    }
}
