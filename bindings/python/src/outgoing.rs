//! A message to send, as passed by Python.

use netdyno_rtc::Kind;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

/// Python's own immutable bytes, kept alive and read by the driver's thread.
pub(crate) enum OutgoingMessage {
    Text(PyBackedStr),
    Binary(PyBackedBytes),
}

impl OutgoingMessage {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Binary(_) => Kind::Binary,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// Its share of the buffered amount. An empty message counts as one byte, as in netdyno-rtc.
    pub(crate) fn charge(&self) -> u64 {
        self.bytes().len().max(1) as u64
    }
}

impl<'py> FromPyObject<'_, 'py> for OutgoingMessage {
    type Error = PyErr;

    fn extract(data: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if data.is_instance_of::<PyBytes>() {
            return Ok(Self::Binary(data.extract()?));
        }
        if data.is_instance_of::<PyString>() {
            return Ok(Self::Text(data.extract()?));
        }
        // A mutable object is copied through the buffer protocol. `bytes(number)` would create zeros, so it
        // is not used.
        let py = data.py();
        let view = py.get_type::<pyo3::types::PyMemoryView>().call1((data,))?;
        Ok(Self::Binary(view.call_method0("tobytes")?.extract()?))
    }
}
