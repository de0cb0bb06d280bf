//! Access to fields in a group whose length was checked once.

/// The two bytes at `at`. The group's length is constant, so the bounds check is optimised away.
#[inline(always)]
pub(super) fn u16_at<const N: usize>(group: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([group[at], group[at + 1]])
}

/// The four bytes at `at`.
#[inline(always)]
pub(super) fn u32_at<const N: usize>(group: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([group[at], group[at + 1], group[at + 2], group[at + 3]])
}

/// Sets the two bytes at `at`.
#[inline(always)]
pub(super) fn put_u16<const N: usize>(group: &mut [u8; N], at: usize, value: u16) {
    group[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Sets the four bytes at `at`.
#[inline(always)]
pub(super) fn put_u32<const N: usize>(group: &mut [u8; N], at: usize, value: u32) {
    group[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
