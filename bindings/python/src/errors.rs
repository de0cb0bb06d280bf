//! Errors, as Python has them.

use netdyno_rtc::{ChannelError, Error, SignalingError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyException, PyOSError, PyValueError};

create_exception!(
    netdyno_rtc,
    InvalidStateError,
    PyException,
    "Not at this point: the message says of what."
);
create_exception!(netdyno_rtc, OperationError, PyException, "A limit is reached: the message says which.");

/// One of netdyno-rtc's, by who can do something about it: the call's order, its arguments, the system, or the network.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Bind { .. } | Error::Io(_) => PyOSError::new_err(text),
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
