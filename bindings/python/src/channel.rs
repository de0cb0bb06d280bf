//! A data channel, as the Python half sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use netdyno_rtc::{ChannelState, Endpoint, Error, Kind, Message, Reliability};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::driver::Hand;
use crate::errors::{InvalidStateError, OperationError};
use crate::item::Item;
use crate::limits::BUFFERED_BYTES;
use crate::shared::SharedChannel;

/// A data channel. What happens to it is told by its number.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Channel {
    hand: Arc<Hand>,
    shared: Arc<SharedChannel>,
}

impl Channel {
    pub(crate) fn new(hand: Arc<Hand>, shared: Arc<SharedChannel>) -> Self {
        Self { hand, shared }
    }

    fn take(&self, max: usize) -> Vec<Message> {
        let (messages, charged) = self.shared.take(max);
        if self.shared.peer.resumes(charged) {
            let shared = self.shared.clone();
            self.hand.post(move |endpoint, _| resume(endpoint, &shared));
        }
        messages
    }
}

#[pymethods]
impl Channel {
    #[getter]
    fn number(&self) -> u64 {
        self.shared.bell.number
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

    /// Bytes that have not been sent for the first time. Asked for, it is looked up; so the next answer is news.
    #[getter]
    fn buffered(&self) -> u64 {
        let mut out = self.shared.out();
        let buffered = out.buffered();
        let must_look = buffered > 0 && out.state != ChannelState::Closed && out.schedules();
        drop(out);
        if must_look {
            self.hand.feed(&self.shared);
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
            self.hand.feed(&self.shared);
        }
    }

    /// Whether no more than `bytes` are buffered; if not, it will be told.
    fn has_room(&self, bytes: u64) -> bool {
        let mut out = self.shared.out();
        let is_over = matches!(out.state, ChannelState::Closing | ChannelState::Closed);
        let has_room = is_over || out.has_room(bytes);
        let must_look = !has_room && out.schedules();
        drop(out);
        if must_look {
            self.hand.feed(&self.shared);
        }
        has_room
    }

    /// Takes a message: `str`, or what has the buffer protocol. It is sent by another thread.
    fn send(&self, data: Item) -> PyResult<()> {
        self.send_many(vec![data])
    }

    /// Takes all of these messages, or none.
    fn send_many(&self, messages: Vec<Item>) -> PyResult<()> {
        let limit = self.shared.peer.max_message_bytes.load(Ordering::Relaxed);
        let mut bytes = 0;
        for item in &messages {
            let length = item.bytes().len() as u64;
            if length > limit {
                let text =
                    format!("the message has {length} bytes, the peer takes {limit}: send it in pieces");
                return Err(PyValueError::new_err(text));
            }
            bytes += item.charge();
        }
        let mut out = self.shared.out();
        if out.state != ChannelState::Open {
            drop(out);
            return Err(InvalidStateError::new_err(format!("the data channel is {}", self.state())));
        }
        if out.buffered() + bytes > BUFFERED_BYTES {
            return Err(OperationError::new_err(format!(
                "{} bytes are buffered, and no more than {BUFFERED_BYTES} may be: await send_async, or look at bufferedAmount",
                out.buffered()
            )));
        }
        messages.into_iter().for_each(|item| out.push(item));
        let must_feed = out.schedules();
        drop(out);
        if must_feed {
            self.hand.feed(&self.shared);
        }
        Ok(())
    }

    /// Up to `max` messages that are there.
    fn receive<'py>(&self, py: Python<'py>, max: usize) -> PyResult<Bound<'py, PyList>> {
        let messages = self.take(max).into_iter().map(|message| match message.kind {
            // It was checked on arrival.
            Kind::Text => PyString::from_bytes(py, &message.data).map(Bound::into_any),
            Kind::Binary => Ok(PyBytes::new(py, &message.data).into_any()),
        });
        PyList::new(py, messages.collect::<PyResult<Vec<_>>>()?)
    }

    /// Closes it once all that was given to send has been sent. What came and was not taken is thrown away, and what comes.
    fn close(&self) {
        let mut out = self.shared.out();
        if matches!(out.state, ChannelState::Closing | ChannelState::Closed) {
            return;
        }
        out.state = ChannelState::Closing;
        drop(out);
        let shared = self.shared.clone();
        self.hand.post(move |endpoint, ends| {
            ends.close_channel(&shared);
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
        let stats = self.hand.run(py, move |endpoint, _| {
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

/// The connection is read again.
fn resume(endpoint: &mut Endpoint, channel: &SharedChannel) {
    if let Some(mut connection) = endpoint.connection(channel.peer.id) {
        connection.set_reading(true);
    }
}

impl Drop for Channel {
    /// Nobody takes its messages any more: they must not hold up the connection's others.
    fn drop(&mut self) {
        self.take(usize::MAX);
    }
}
