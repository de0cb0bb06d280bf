//! Memory that C owns and this crate reads, and texts that this crate allocates and C gives back. All
//! `unsafe` code of this crate is in this file.
//!
//! NULL, alignment, lengths and UTF-8 are checked. Only the caller can ensure that the given number of bytes
//! is readable until the function returns; the header requires it.

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

use crate::error::{Failure, guarded};

/// Bytes in the caller's memory; their number is a separate argument. Created by C only.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Data(*const c_void);

impl Data {
    pub(crate) fn bytes(&self, length: usize) -> Result<&[u8], Failure> {
        view(self, self.0.cast(), length)
    }
}

/// Text in the caller's memory; its length is a separate argument. Created by C only.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn text(&self, length: usize) -> Result<&str, Failure> {
        let bytes = view(self, self.0.cast(), length)?;
        str::from_utf8(bytes).map_err(|_| Failure::invalid("text that is not UTF-8"))
    }
}

/// Bytes to send, in the caller's memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_bytes {
    /// May be NULL if `length` is 0.
    data: Data,
    /// Number of bytes.
    length: usize,
}

impl AsRef<[u8]> for nd_bytes {
    fn as_ref(&self) -> &[u8] {
        // Checked by `List::messages`.
        self.data.bytes(self.length).unwrap_or_default()
    }
}

/// A list of messages in the caller's memory; their number is a separate argument. Created by C only.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct List(*const nd_bytes);

impl List {
    pub(crate) fn messages(&self, count: usize) -> Result<&[nd_bytes], Failure> {
        let list = view(self, self.0, count)?;
        list.iter().try_for_each(|message| message.data.bytes(message.length).map(|_| ()))?;
        Ok(list)
    }
}

/// The values at an address, for as long as the argument that carried the address.
pub(crate) fn view<T>(_argument: &impl Copy, at: *const T, length: usize) -> Result<&[T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if at.is_null() || !at.is_aligned() {
        return Err(Failure::invalid("an address that is NULL or unaligned, with a nonzero length"));
    }
    if length.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::invalid("a length that exceeds the address space"));
    }
    // SAFETY: the address is aligned and not null, and the length does not exceed an object's maximum. The
    // header requires that this many values are readable until the call returns; every bit pattern of them is
    // valid (bytes, or structures of addresses and lengths). The argument does not outlive the call.
    Ok(unsafe { slice::from_raw_parts(at, length) })
}

/// A text allocated by this library and given back by C.
#[repr(transparent)]
#[derive(Debug)]
pub struct OwnedText(*mut c_char);

/// Returns a text to the caller, NUL-terminated, with its length if requested.
pub(crate) fn hand_over(
    text: String,
    to: &mut MaybeUninit<*mut c_char>,
    length: Option<&mut MaybeUninit<usize>>,
) -> Result<(), Failure> {
    let bytes = text.len();
    let text = CString::new(text).map_err(|_| Failure::bug("a string that contains a NUL byte"))?;
    to.write(text.into_raw());
    if let Some(length) = length {
        length.write(bytes);
    }
    Ok(())
}

/// Frees a text that a function of this library returned. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_text_free(text: OwnedText) {
    guarded((), || {
        // SAFETY: the text came from `CString::into_raw` in `hand_over`; the header requires that it is given
        // back once and unchanged.
        (!text.0.is_null()).then(|| drop(unsafe { CString::from_raw(text.0) }))
    });
}

/// Uses results of this library as a C program does, for tests.
#[cfg(test)]
pub(crate) mod caller {
    use super::*;
    use crate::error::{ND_OK, nd_code};

    pub(crate) fn data(bytes: &[u8]) -> Data {
        Data(bytes.as_ptr().cast())
    }

    pub(crate) fn text(text: &str) -> Text {
        Text(text.as_ptr().cast())
    }

    /// The handle that a function of this library returned in its last argument.
    pub(crate) fn handle<T>(function: impl FnOnce(&mut MaybeUninit<*mut T>) -> nd_code) -> Box<T> {
        let mut handle = MaybeUninit::uninit();
        assert_eq!(function(&mut handle), ND_OK);
        // SAFETY: the function succeeded, so it wrote the address of a box that now belongs to the caller.
        unsafe { Box::from_raw(handle.assume_init()) }
    }

    /// The values that a function of this library returned in its last arguments, or its code if it failed.
    pub(crate) fn list<T: Copy>(
        function: impl FnOnce(&mut MaybeUninit<*const T>, &mut MaybeUninit<usize>) -> nd_code,
    ) -> Result<Vec<T>, nd_code> {
        let (mut list, mut count) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        match function(&mut list, &mut count) {
            // SAFETY: the function succeeded, so it wrote both.
            ND_OK => Ok(copied(unsafe { list.assume_init() }, unsafe { count.assume_init() })),
            code => Err(code),
        }
    }

    /// A copy of values that this library returned.
    pub(crate) fn copied<T: Copy>(at: *const T, count: usize) -> Vec<T> {
        view(&(), at, count).expect("a valid list").to_vec()
    }

    /// The text that a function of this library returned in its last arguments.
    pub(crate) fn returned(
        function: impl FnOnce(&mut MaybeUninit<*mut c_char>, &mut MaybeUninit<usize>) -> nd_code,
    ) -> String {
        let (mut text, mut length) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        assert_eq!(function(&mut text, &mut length), ND_OK);
        // SAFETY: the function succeeded, so it wrote both.
        let (text, length) = unsafe { (text.assume_init(), length.assume_init()) };
        let copy = Text(text).text(length).expect("UTF-8").to_owned();
        nd_text_free(OwnedText(text));
        copy
    }
}

// Also run under Miri (`.ci/sanitize miri`), which detects accesses outside an object and after its release.
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn a_view_covers_exactly_the_given_bytes() {
        let memory = b"abcdef".to_vec();
        let data = Data(memory.as_ptr().cast());
        assert_eq!(data.bytes(memory.len()).unwrap(), b"abcdef");
        assert_eq!(data.bytes(2).unwrap(), b"ab");
        assert_eq!(Text(memory.as_ptr().cast()).text(3).unwrap(), "abc");
    }

    #[test]
    fn a_length_of_0_needs_no_memory() {
        assert_eq!(Data(ptr::null()).bytes(0).unwrap(), b"");
        assert_eq!(Text(ptr::null()).text(0).unwrap(), "");
        assert!(List(ptr::null()).messages(0).unwrap().is_empty());
        assert_eq!(nd_bytes { data: Data(ptr::null()), length: 0 }.as_ref(), b"");
    }

    #[test]
    fn invalid_addresses_and_lengths_are_refused() {
        let list = [nd_bytes { data: Data(ptr::null()), length: 0 }; 2];
        let start: *const nd_bytes = list.as_ptr();
        assert!(Data(ptr::null()).bytes(1).is_err());
        assert!(List(ptr::null()).messages(1).is_err());
        assert!(List(start.wrapping_byte_add(1)).messages(1).is_err());
        assert!(Data(start.cast()).bytes(usize::MAX).is_err());
        assert!(List(start).messages(usize::MAX / size_of::<nd_bytes>()).is_err());
        assert!(List(start).messages(usize::MAX / 2).is_err());
    }

    #[test]
    fn text_must_be_utf8() {
        let memory = [b'a', 0xff];
        assert!(Text(memory.as_ptr().cast()).text(2).is_err());
        assert_eq!(Text(memory.as_ptr().cast()).text(1).unwrap(), "a");
    }

    #[test]
    fn every_message_of_a_list_is_checked() {
        let (first, second) = (vec![1, 2, 3], vec![4]);
        let mut list = [
            nd_bytes { data: Data(first.as_ptr().cast()), length: first.len() },
            nd_bytes { data: Data(ptr::null()), length: 0 },
            nd_bytes { data: Data(second.as_ptr().cast()), length: second.len() },
        ];
        let argument = List(list.as_ptr());
        let messages = argument.messages(list.len()).unwrap();
        let messages: Vec<&[u8]> = messages.iter().map(AsRef::as_ref).collect();
        assert_eq!(messages, [&first[..], &[], &second[..]]);
        list[1].length = 1;
        assert!(List(list.as_ptr()).messages(list.len()).is_err());
        assert_eq!(List(list.as_ptr()).messages(1).unwrap().len(), 1);
    }

    #[test]
    fn a_text_belongs_to_the_caller_until_it_is_given_back() {
        let (mut text, mut length) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        hand_over("grüße".to_owned(), &mut text, Some(&mut length)).unwrap();
        // SAFETY: `hand_over` succeeded, so it wrote both.
        let (text, length) = unsafe { (text.assume_init(), length.assume_init()) };
        let memory = Data(text.cast_const().cast());
        assert_eq!(memory.bytes(length + 1).unwrap(), "grüße\0".as_bytes());
        nd_text_free(OwnedText(text));
        nd_text_free(OwnedText(ptr::null_mut()));
    }

    #[test]
    fn a_text_that_c_could_not_see_the_end_of_is_not_handed_over() {
        let mut text = MaybeUninit::uninit();
        assert!(hand_over("a\0b".to_owned(), &mut text, None).is_err());
    }
}
