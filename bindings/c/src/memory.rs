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
