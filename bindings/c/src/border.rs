//! Memory that C owns and we look at, and texts of ours that C owns until it gives them back. All `unsafe` of this crate stands here.
//!
//! What is checked: null, alignment, lengths, UTF-8. What only the caller can know, that an address with so many bytes behind it is readable
//! until the function returns, is the contract of the header.

use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

use crate::error::{Failure, shielded};
use crate::options::nd_ice_server;

/// Bytes in the caller's memory, whose number stands beside it. Only C makes them.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Data(*const c_void);

impl Data {
    pub(crate) fn bytes(&self, length: usize) -> Result<&[u8], Failure> {
        view(self, self.0.cast(), length)
    }
}

/// A text in the caller's memory, whose length stands beside it. Only C makes them.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    pub(crate) fn text(&self, length: usize) -> Result<&str, Failure> {
        let bytes = view(self, self.0.cast(), length)?;
        str::from_utf8(bytes).map_err(|_| Failure::invalid("a text that is not UTF-8"))
    }
}

/// Bytes to send, in memory of the caller's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_bytes {
    /// May be NULL if `length` is 0.
    data: Data,
    /// How many.
    length: usize,
}

impl AsRef<[u8]> for nd_bytes {
    fn as_ref(&self) -> &[u8] {
        // Checked when the list was taken.
        self.data.bytes(self.length).unwrap_or_default()
    }
}

/// A list of them in the caller's memory, whose number stands beside it. Only C makes them.
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

// Without documentation, as the header does without its name.
#[allow(missing_docs)]
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Servers(*const nd_ice_server);

impl Servers {
    pub(crate) fn servers(&self, count: usize) -> Result<&[nd_ice_server], Failure> {
        view(self, self.0, count)
    }
}

/// What stands at an address, for as long as the argument that it came as.
fn view<T>(_argument: &impl Copy, at: *const T, length: usize) -> Result<&[T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if at.is_null() || !at.is_aligned() {
        return Err(Failure::invalid("an address that is NULL or not aligned, for a length that is not 0"));
    }
    if length.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::invalid("a length beyond all memory"));
    }
    // SAFETY: it is aligned and not null, and no longer than an object can be. That so many values (bytes, or structures of addresses and
    // lengths, which are valid whatever they hold) can be read there until the call returns the header asks of the caller; the argument does
    // not outlive the call.
    Ok(unsafe { slice::from_raw_parts(at, length) })
}

/// A text of ours that C gives back.
#[repr(transparent)]
#[derive(Debug)]
pub struct OwnedText(*mut c_char);

/// Gives a text to the caller: with a zero at its end, and its length if that is asked for.
pub(crate) fn hand_over(
    text: String,
    to: &mut MaybeUninit<*mut c_char>,
    length: Option<&mut MaybeUninit<usize>>,
) -> Result<(), Failure> {
    let bytes = text.len();
    let text = CString::new(text).map_err(|_| Failure::bug("a text with a zero in it"))?;
    to.write(text.into_raw());
    if let Some(length) = length {
        length.write(bytes);
    }
    Ok(())
}

/// Frees a text that a function of this library gave. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_text_free(text: OwnedText) {
    shielded((), || {
        // SAFETY: it came from `CString::into_raw` in `hand_over`, and the header asks that it is given back once and as it was.
        (!text.0.is_null()).then(|| drop(unsafe { CString::from_raw(text.0) }))
    });
}
