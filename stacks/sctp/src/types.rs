//! Protocol numbers: one type each, including its wraparound.

/// Transmission sequence number (RFC 9260 section 1.6): serial arithmetic modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tsn(pub u32);

impl Tsn {
    /// The next number.
    pub fn next(self) -> Self {
        self.add(1)
    }

    /// The previous number.
    pub fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// This number plus `count`.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// The distance from `other`; negative if this is earlier. Exact for distances below 2^31.
    pub fn since(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether this comes after `other`.
    pub fn is_after(self, other: Self) -> bool {
        self.since(other) > 0
    }
}

/// Largest distance at which two SSNs can be compared: half of their range (RFC 9260 section 1.6), less one.
/// DATA chunks farther apart are never in flight at the same time.
pub(crate) const SSN_REACH: usize = (1 << 15) - 1;

/// Stream sequence number of a DATA chunk (RFC 9260 section 1.6): modulo 2^16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ssn(pub u16);

impl Ssn {
    /// The next number.
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Whether this comes after `other`.
    pub fn is_after(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i16) > 0
    }
}

/// Message identifier of an I-DATA chunk (RFC 8260 section 2.1): modulo 2^32, one space for ordered and one for
/// unordered messages of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mid(pub u32);

impl Mid {
    /// The next number.
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Whether this comes after `other`.
    pub fn is_after(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) > 0
    }
}

/// Fragment sequence number of an I-DATA chunk (RFC 8260 section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fsn(pub u32);

/// Stream identifier. WebRTC allows 0 to 65,534 (RFC 8832 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StreamId(pub u16);

/// Payload protocol identifier (RFC 9260 section 3.3.1): the type of the payload, for the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ppid(pub u32);

impl Ppid {
    /// WebRTC DCEP (RFC 8832 section 8.1).
    pub const DCEP: Self = Self(50);
    /// WebRTC String (RFC 8831 section 8).
    pub const STRING: Self = Self(51);
    /// WebRTC Binary.
    pub const BINARY: Self = Self(53);
    /// WebRTC String Empty: an empty string, sent as one zero byte.
    pub const STRING_EMPTY: Self = Self(56);
    /// WebRTC Binary Empty: an empty message, sent as one zero byte.
    pub const BINARY_EMPTY: Self = Self(57);
}
