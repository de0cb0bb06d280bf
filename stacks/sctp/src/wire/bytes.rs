//! Fixed places in a field group whose length was checked once.

/// The two bytes from `at` on. The group has a known length, so that the check of `at` folds away.
#[inline(always)]
pub(super) fn u16_at<const N: usize>(group: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([group[at], group[at + 1]])
}

/// The four bytes from `at` on.
#[inline(always)]
pub(super) fn u32_at<const N: usize>(group: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([group[at], group[at + 1], group[at + 2], group[at + 3]])
}

/// Sets the two bytes from `at` on.
#[inline(always)]
pub(super) fn put_u16<const N: usize>(group: &mut [u8; N], at: usize, value: u16) {
    group[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Sets the four bytes from `at` on.
#[inline(always)]
pub(super) fn put_u32<const N: usize>(group: &mut [u8; N], at: usize, value: u32) {
    group[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
