//! Appending to a buffer without initialising it first, and without using all of its capacity.

use std::mem::MaybeUninit;
use std::ptr;

/// Lets `read` fill the next `most` bytes after the end of `buffer`, as far as its capacity reaches. `read` returns the
/// part that it has filled, which must start where its argument does. Returns the length of that part.
///
/// # Panics
///
/// If `read` returns another slice.
#[allow(unsafe_code)]
pub(super) fn append<E>(
    buffer: &mut Vec<u8>,
    most: usize,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> Result<&mut [u8], E>,
) -> Result<usize, E> {
    let length = buffer.len();
    let spare = buffer.spare_capacity_mut();
    let most = most.min(spare.len());
    let start = spare.as_ptr().cast::<u8>();
    let filled = read(&mut spare[..most])?;
    let count = filled.len();
    assert!(ptr::eq(filled.as_ptr(), start) && count <= most, "another slice than the one to fill");
    // SAFETY: `filled` is a slice of initialised bytes that starts at the end of the buffer and lies within its capacity.
    unsafe { buffer.set_len(length + count) };
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fs::File;

    use super::*;

    #[test]
    fn appends_what_was_filled() {
        let zeros = File::open("/dev/zero").unwrap();
        let mut buffer = Vec::with_capacity(100);
        buffer.extend_from_slice(b"ab");
        for (most, asked, appended) in [(3, 3, 3), (5, 2, 2), (5, 0, 0), (1000, 93, 93), (1000, 0, 0)] {
            let (before, capacity) = (buffer.len(), buffer.capacity());
            let room = most.min(capacity - before);
            let count = append(&mut buffer, most, |spare| {
                assert_eq!(spare.len(), room);
                rustix::io::read(&zeros, &mut spare[..asked]).map(|(filled, _)| filled)
            });
            assert_eq!((count, buffer.len(), buffer.capacity()), (Ok(appended), before + appended, capacity));
        }
        assert_eq!(buffer, [&b"ab"[..], &[0; 98]].concat());
    }

    #[test]
    fn an_error_appends_nothing() {
        let mut buffer = Vec::with_capacity(10);
        assert_eq!(append(&mut buffer, 5, |_| Err("none")), Err("none"));
        assert!(buffer.is_empty());
    }

    #[test]
    #[should_panic(expected = "another slice")]
    fn another_slice_is_not_accepted() {
        let mut buffer = Vec::with_capacity(10);
        let other = Box::leak(Box::new([0; 2]));
        let _ = append(&mut buffer, 5, |_| Ok::<_, Infallible>(&mut other[..]));
    }
}
