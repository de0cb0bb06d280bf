//! Result codes, error texts, and the barrier that stops panics.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use netdyno_rtc::{ChannelError, Error, RecvError, SendError, SignalingError};

/// The result of a call: ND_OK or an error code. nd_error_text() explains an error.
pub type nd_code = i32;

/// Success.
pub const ND_OK: nd_code = 0;
/// Timed out (with 0 ms: not possible now), or no space. Nothing was done, or as much as the function says;
/// try again.
pub const ND_NOT_NOW: nd_code = 1;
/// The channel or connection is closed.
pub const ND_CLOSED: nd_code = 2;
/// The connection failed: no path, or an error of DTLS or SCTP.
pub const ND_FAILED: nd_code = 3;
/// An invalid argument: NULL, not UTF-8, or an unknown number. A bug in the caller.
pub const ND_INVALID: nd_code = 4;
/// A description or candidate was rejected. The connection continues unchanged.
pub const ND_SIGNALING: nd_code = 5;
/// The message is longer than the peer accepts.
pub const ND_TOO_LONG: nd_code = 6;
/// The endpoint's settings allow no further connection.
pub const ND_LIMIT: nd_code = 7;
/// The operating system refused: no such address, port in use, no file descriptors left.
pub const ND_SYSTEM: nd_code = 8;
/// A bug in this library. Its state is undefined from now on: free its handles.
pub const ND_BUG: nd_code = 9;

thread_local! {
    static LAST: RefCell<Cow<'static, CStr>> = const { RefCell::new(Cow::Borrowed(c"")) };
}

/// Returns why the last failed call of this thread failed, in English: UTF-8, NUL-terminated, "" if none
/// failed. Valid until the next call of this thread that fails. Do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn nd_error_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the version of the library, such as "0.1.0". It must match ND_VERSION of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nd_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    code: nd_code,
    text: Cow<'static, str>,
}

impl Failure {
    pub(crate) fn new(code: nd_code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ND_INVALID, text)
    }

    pub(crate) fn bug(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ND_BUG, text)
    }

    pub(crate) fn not_now() -> Self {
        Self::new(ND_NOT_NOW, "timed out")
    }

    pub(crate) fn closed() -> Self {
        Self::new(ND_CLOSED, "the connection is closed")
    }

    pub(crate) fn no_description() -> Self {
        Self::new(
            ND_CLOSED,
            "there is no local description: none was created, it was withdrawn, or the connection has ended",
        )
    }

    /// The result of a wait that succeeded or timed out.
    pub(crate) fn timeout_unless(done: bool) -> Result<(), Self> {
        if done { Ok(()) } else { Err(Self::not_now()) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Bind { .. } | Error::Io(_) | Error::Driver(_) | Error::Random => ND_SYSTEM,
            Error::Peer(netdyno_rtc::core::Error::Config(_))
            | Error::Address(_)
            | Error::IceServer { .. } => ND_INVALID,
            Error::Peer(_) => ND_FAILED,
            Error::Signaling(_) => ND_SIGNALING,
            Error::Channel(error) => return (*error).into(),
            Error::Limit => ND_LIMIT,
            Error::Closed => ND_CLOSED,
            _ => ND_BUG,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SignalingError> for Failure {
    fn from(error: SignalingError) -> Self {
        Error::from(error).into()
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Self {
        let code = if error == ChannelError::Closed { ND_CLOSED } else { ND_INVALID };
        Self::new(code, error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let code = match error {
            SendError::WouldBlock => return Self::new(ND_NOT_NOW, "the send buffer is full"),
            SendError::Connecting => return Self::new(ND_NOT_NOW, "the data channel is not open yet"),
            SendError::TooLong { .. } => ND_TOO_LONG,
            SendError::NotUtf8 => ND_INVALID,
            SendError::Closed => ND_CLOSED,
            SendError::Failed => ND_FAILED,
            _ => ND_BUG,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RecvError> for Failure {
    fn from(error: RecvError) -> Self {
        let code = if error == RecvError::Failed { ND_FAILED } else { ND_CLOSED };
        Self::new(code, error.to_string())
    }
}

/// An argument that C may leave out but this function needs.
pub(crate) fn required<T>(argument: Option<T>) -> Result<T, Failure> {
    argument.ok_or(Failure::invalid("a handle or result pointer is NULL"))
}

/// Runs a call that returns a code. A panic becomes ND_BUG.
pub(crate) fn call(act: impl FnOnce() -> Result<(), Failure>) -> nd_code {
    // A panic can only damage state of the library, which handles it: its locks are poisoned, and waiting
    // calls return.
    let failure = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => return ND_OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::bug("the library panicked; the message is on stderr"),
    };
    let text: Cow<'static, CStr> = match failure.text {
        // A timeout is not an error and may be frequent, so its text is not allocated.
        Cow::Borrowed("timed out") => Cow::Borrowed(c"timed out"),
        text => Cow::Owned(CString::new(text.replace('\0', " ")).unwrap_or_default()),
    };
    // Fails only while the thread is ending.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
    failure.code
}

/// Runs a call that returns a value; returns `otherwise` without one, or after a panic.
pub(crate) fn guarded<T>(otherwise: T, act: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(act)).ok().flatten().unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        // What `nd_error_text` points to.
        LAST.with(|last| last.borrow().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_panic_is_a_code_and_a_text() {
        assert_eq!(call(|| panic!("a bug, for the sake of this test")), ND_BUG);
        assert!(text().contains("panic"), "{}", text());
        assert_eq!(guarded(7, || panic!("another")), 7);
        assert_eq!(call(|| Err(Failure::not_now())), ND_NOT_NOW);
        assert_eq!(text(), "timed out");
    }

    #[test]
    fn texts_are_of_their_thread() {
        assert_eq!(call(|| Err(Failure::invalid("with a \0 in it"))), ND_INVALID);
        std::thread::spawn(|| assert_eq!(text(), "")).join().unwrap();
        assert_eq!(text(), "with a   in it");
        assert_eq!(call(|| Ok(())), ND_OK);
        assert_eq!(text(), "with a   in it", "a call that succeeds leaves it");
    }
}
