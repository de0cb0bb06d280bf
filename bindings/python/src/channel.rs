//! A data channel as the Python half sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use netdyno_rtc::{ChannelState, Endpoint, Error, Kind, Message, Reliability};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::errors::{InvalidStateError, OperationError};
use crate::handle::DriverHandle;
use crate::limits::BUFFERED_BYTES;
use crate::outgoing::OutgoingMessage;
use crate::shared::SharedChannel;

/// A data channel. Its events are reported under its number.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Channel {
    handle: Arc<DriverHandle>,
    shared: Arc<SharedChannel>,
}

impl Channel {
    pub(crate) fn new(handle: Arc<DriverHandle>, shared: Arc<SharedChannel>) -> Self {
        Self { handle, shared }
    }

    fn take(&self, max: usize) -> Vec<Message> {
        let (messages, charged) = self.shared.take(max);
        if self.shared.peer.resumes(charged) {
            let shared = self.shared.clone();
            self.handle.post(move |endpoint, _| resume(endpoint, &shared));
        }
        messages
    }
}

#[pymethods]
impl Channel {
    #[getter]
    fn number(&self) -> u64 {
        self.shared.source.number
    }

    #[getter]
    fn label(&self) -> &str {
        &self.shared.label
    }

    #[getter]
    fn protocol(&self) -> &str {
        &self.shared.options.protocol
    }

    #[getter]
    fn ordered(&self) -> bool {
        self.shared.options.ordered
    }

    #[getter]
    fn negotiated(&self) -> bool {
        self.shared.options.negotiated.is_some()
    }

    #[getter]
    fn lifetime_ms(&self) -> Option<u128> {
        match self.shared.options.reliability {
            Reliability::MaxLifetime(lifetime) => Some(lifetime.as_millis()),
            _ => None,
        }
    }

    #[getter]
    fn retransmits(&self) -> Option<u16> {
        match self.shared.options.reliability {
            Reliability::MaxRetransmits(count) => Some(count),
            _ => None,
        }
    }

    /// The SCTP stream, once it is known.
    #[getter]
    fn id(&self) -> Option<u16> {
        self.shared.stream.get().copied()
    }

    #[getter]
    fn state(&self) -> &'static str {
        self.shared.out().state.name()
    }

    /// Bytes that have not been sent for the first time. Reading it schedules an update, so that the next
    /// read is newer.
    #[getter]
    fn buffered(&self) -> u64 {
        let mut out = self.shared.out();
        let buffered = out.buffered();
        let must_look = buffered > 0 && out.state != ChannelState::Closed && out.schedules();
        drop(out);
        if must_look {
            self.handle.feed(&self.shared);
        }
        buffered
    }

    #[getter]
    fn low(&self) -> u64 {
        self.shared.out().low()
    }

    #[setter]
    fn set_low(&self, bytes: u64) {
        let mut out = self.shared.out();
        out.set_low(bytes);
        let must_look = out.buffered() > 0 && out.schedules();
        drop(out);
        if must_look {
            self.handle.feed(&self.shared);
        }
    }

    /// Whether at most `bytes` are buffered; if not, `ROOM` is raised once that is so.
    fn has_room(&self, bytes: u64) -> bool {
        let mut out = self.shared.out();
        let is_over = matches!(out.state, ChannelState::Closing | ChannelState::Closed);
        let has_room = is_over || out.has_room(bytes);
        let must_look = !has_room && out.schedules();
        drop(out);
        if must_look {
            self.handle.feed(&self.shared);
        }
        has_room
    }

    /// Queues a message: `str`, or an object with the buffer protocol. The driver's thread sends it.
    fn send(&self, data: OutgoingMessage) -> PyResult<()> {
        self.send_many(vec![data])
    }

    /// Queues all of these messages, or none.
    fn send_many(&self, messages: Vec<OutgoingMessage>) -> PyResult<()> {
        let limit = self.shared.peer.max_message_bytes.load(Ordering::Relaxed);
        let mut bytes = 0;
        for message in &messages {
            let length = message.bytes().len() as u64;
            if length > limit {
                let text = format!("the message has {length} bytes, but the peer accepts {limit}: split it");
                return Err(PyValueError::new_err(text));
            }
            bytes += message.charge();
        }
        let mut out = self.shared.out();
        if out.state != ChannelState::Open {
            drop(out);
            return Err(InvalidStateError::new_err(format!("the data channel is {}", self.state())));
        }
        if out.buffered() + bytes > BUFFERED_BYTES {
            return Err(OperationError::new_err(format!(
                "{} bytes are buffered (limit {BUFFERED_BYTES}): await send_async, or check bufferedAmount",
                out.buffered()
            )));
        }
        messages.into_iter().for_each(|message| out.push(message));
        let must_feed = out.schedules();
        drop(out);
        if must_feed {
            self.handle.feed(&self.shared);
        }
        Ok(())
    }

    /// Up to `max` available messages.
    fn receive<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Bound<'py, PyList>> {
        let messages = self.take(max).into_iter().map(|message| match message.kind {
            // Checked as UTF-8 on arrival.
            Kind::Text => PyString::from_bytes(py, &message.data).map(Bound::into_any),
            Kind::Binary => Ok(PyBytes::new(py, &message.data).into_any()),
        });
        PyList::new(py, messages.collect::<PyResult<Vec<_>>>()?)
    }

    /// Closes the channel once all queued messages have been sent. Unread and later messages are discarded.
    fn close(&self) {
        let mut out = self.shared.out();
        if matches!(out.state, ChannelState::Closing | ChannelState::Closed) {
            return;
        }
        out.state = ChannelState::Closing;
        drop(out);
        let shared = self.shared.clone();
        self.handle.post(move |endpoint, connections| {
            connections.close_channel(&shared);
            let (unread, charged) = shared.take(usize::MAX);
            drop(unread);
            if shared.peer.resumes(charged) {
                resume(endpoint, &shared);
            }
        });
    }

    /// Statistics.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (id, channel) = (self.shared.peer.id, self.shared.id);
        let stats = self.handle.run(py, move |endpoint, _| {
            Ok(endpoint.connection(id).ok_or(Error::Closed)?.channel_stats(channel))
        })?;
        let all = PyDict::new(py);
        all.set_item("messagesSent", stats.messages_sent)?;
        all.set_item("bytesSent", stats.bytes_sent)?;
        all.set_item("messagesReceived", stats.messages_received)?;
        all.set_item("bytesReceived", stats.bytes_received)?;
        Ok(all)
    }
}

/// Resumes reading from the connection.
fn resume(endpoint: &mut Endpoint, channel: &SharedChannel) {
    if let Some(mut connection) = endpoint.connection(channel.peer.id) {
        connection.set_reading(true);
    }
}

impl Drop for Channel {
    /// Unread messages are dropped, so that they do not stop the connection's other channels.
    fn drop(&mut self) {
        self.take(usize::MAX);
    }
}
