//! The value table, indexed by key number.

/// Maximum length of the tables. Only pages with values use memory.
const MAX_BYTES: usize = 1 << 36;

/// The index of a key in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub u32);

/// Values of equal length: those of the keys `key:N`, then those of the keys `verify:C:I`.
pub struct Table {
    value_bytes: usize,
    keys: u64,
    connections: u64,
    verify_keys: u64,
    /// For each slot, whether a value was set.
    present: Box<[bool]>,
    /// Never freed, because the kernel holds references to it.
    values: *mut u8,
}

impl Table {
    pub fn new(keys: u64, connections: u64, verify_keys: u64, value_bytes: usize) -> Result<Self, String> {
        let slots = (keys + connections * verify_keys) as usize;
        let bytes = slots.checked_mul(value_bytes).filter(|bytes| *bytes <= MAX_BYTES);
        let bytes = bytes.ok_or_else(|| format!("{slots} values of {value_bytes} bytes are too many"))?;
        // Zeroed pages, which the system does not allocate until they are written.
        let values = Box::leak(vec![0; bytes].into_boxed_slice()).as_mut_ptr();
        Ok(Self { value_bytes, keys, connections, verify_keys, present: vec![false; slots].into(), values })
    }

    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Returns the slot of a key, or `None` for a key that is not part of the workload.
    #[inline]
    pub fn slot(&self, key: &[u8]) -> Option<Slot> {
        if let Some(digits) = key.strip_prefix(b"key:") {
            let number = number(digits)?;
            return (number < self.keys).then_some(Slot(number as u32));
        }
        let mut numbers = key.strip_prefix(b"verify:")?.splitn(2, |byte| *byte == b':');
        let (connection, own) = (number(numbers.next()?)?, number(numbers.next()?)?);
        let known = connection < self.connections && own < self.verify_keys;
        known.then(|| Slot((self.keys + connection * self.verify_keys + own) as u32))
    }

    /// Returns the value of a slot, if it was set.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&'static [u8]> {
        let at = slot.0 as usize;
        // SAFETY: a slot is within the table, which is never freed. A value that is set while it is sent may be sent as a mixture of
        // both, but this process does not read it.
        self.present[at].then(|| unsafe {
            std::slice::from_raw_parts(self.values.add(at * self.value_bytes), self.value_bytes)
        })
    }

    /// Writes a part of a value at offset `from`. Bytes beyond the value's length are ignored.
    #[inline]
    pub fn put(&mut self, slot: Slot, from: usize, part: &[u8]) {
        let at = slot.0 as usize;
        let length = part.len().min(self.value_bytes.saturating_sub(from));
        // SAFETY: the write is within the slot. `part` points into a receive buffer, not into the table.
        unsafe {
            let place = self.values.add(at * self.value_bytes + from);
            std::ptr::copy_nonoverlapping(part.as_ptr(), place, length);
        }
        self.present[at] = true;
    }
}

/// Parses a decimal number.
#[inline]
pub fn number(digits: &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.wrapping_mul(10) + u64::from(digit);
    }
    (!digits.is_empty() && digits.len() < 20).then_some(number)
}
