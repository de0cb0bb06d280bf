//! Conversion of errors to Python exceptions.

use netdyno_rtc::{ChannelError, Error, SignalingError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyException, PyOSError, PyValueError};

create_exception!(
    netdyno_rtc,
    InvalidStateError,
    PyException,
    "The operation is not allowed in the current state, which the message names."
);
create_exception!(netdyno_rtc, OperationError, PyException, "A limit was reached; the message names it.");

/// Converts an error by what can be done about it: the order of calls, the arguments, the system, or the
/// network.
pub(crate) fn to_py_err(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Bind { .. } | Error::Io(_) | Error::Driver(_) => PyOSError::new_err(text),
        Error::Limit => OperationError::new_err(text),
        Error::Signaling(SignalingError::State(_)) | Error::Channel(ChannelError::Closed) | Error::Closed => {
            InvalidStateError::new_err(text)
        }
        Error::Peer(_) => PyConnectionError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

pub(crate) fn closed() -> PyErr {
    InvalidStateError::new_err("the peer connection is closed")
}
