//! A connection, as the Python half sees it.

use std::sync::Arc;
use std::time::Duration;

use netdyno_rtc::core::IceState;
use netdyno_rtc::{ChannelOptions, Connection, Error, PeerState, Reliability, SignalingError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::channel::Channel;
use crate::driver::Hand;
use crate::report;
use crate::shared::SharedPeer;

/// A connection. What happens to it is told by its number.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Peer {
    hand: Arc<Hand>,
    shared: Arc<SharedPeer>,
}

impl Peer {
    pub(crate) fn new(hand: Arc<Hand>, shared: Arc<SharedPeer>) -> Self {
        Self { hand, shared }
    }

    /// Does something with the connection, on the driver's thread.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Connection<'_>) -> Result<T, SignalingError> + Send + 'static,
    ) -> PyResult<T> {
        let id = self.shared.id;
        self.hand.run(py, move |endpoint, _| {
            let mut connection = endpoint.connection(id).ok_or(Error::Closed)?;
            Ok(act(&mut connection)?)
        })
    }

    /// The same with a description of the peer.
    fn describe<T: Send + 'static>(
        &self,
        py: Python<'_>,
        sdp: String,
        act: impl FnOnce(&mut Connection<'_>, &str) -> Result<T, SignalingError> + Send + 'static,
    ) -> PyResult<T> {
        let id = self.shared.id;
        self.hand.run(py, move |endpoint, ends| {
            let mut connection = endpoint.connection(id).ok_or(Error::Closed)?;
            let done = act(&mut connection, &sdp)?;
            ends.described(id, &sdp);
            Ok(done)
        })
    }
}

#[pymethods]
impl Peer {
    #[getter]
    fn number(&self) -> u64 {
        self.shared.bell.number
    }

    /// connectionState, iceConnectionState, and why it failed, if it did.
    #[getter]
    fn state(&self) -> (&'static str, &'static str, Option<String>) {
        let now = self.shared.now();
        let ice = match (now.state, now.ice) {
            (PeerState::Closed, _) => "closed",
            // All candidates are known with the description: it does not change any more.
            (_, IceState::Connected) => "completed",
            (_, other) => other.name(),
        };
        (now.state.name(), ice, now.failure.clone())
    }

    /// Whether nothing will happen to it any more.
    #[getter]
    fn is_over(&self) -> bool {
        self.shared.now().is_over
    }

    /// The longest message that the peer takes.
    #[getter]
    fn max_message_bytes(&self) -> u64 {
        self.shared.max_message_bytes.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Channels that the peer has opened since.
    fn incoming(&self) -> Vec<Channel> {
        let incoming = std::mem::take(&mut self.shared.now().incoming);
        incoming.into_iter().map(|shared| Channel::new(self.hand.clone(), shared)).collect()
    }

    /// A new channel.
    #[expect(clippy::too_many_arguments, reason = "W3C RTCDataChannelInit")]
    fn create_channel(
        &self,
        py: Python<'_>,
        label: String,
        ordered: bool,
        lifetime_ms: Option<u16>,
        retransmits: Option<u16>,
        protocol: String,
        negotiated: Option<u16>,
    ) -> PyResult<Channel> {
        let reliability = match (lifetime_ms, retransmits) {
            (Some(ms), _) => Reliability::MaxLifetime(Duration::from_millis(ms.into())),
            (None, Some(count)) => Reliability::MaxRetransmits(count),
            (None, None) => Reliability::Reliable,
        };
        let options =
            ChannelOptions { ordered, reliability, protocol, negotiated, ..ChannelOptions::default() };
        let id = self.shared.id;
        let create =
            self.hand.run(py, move |endpoint, ends| ends.create_channel(endpoint, id, &label, options));
        Ok(Channel::new(self.hand.clone(), create?))
    }

    fn create_offer(&self, py: Python<'_>, restart: bool) -> PyResult<String> {
        self.with(py, move |connection| connection.create_offer(restart))
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |connection| connection.rollback())
    }

    /// Takes the peer's offer, and gives the answer.
    fn accept_offer(&self, py: Python<'_>, sdp: String) -> PyResult<String> {
        self.describe(py, sdp, |connection, sdp| connection.accept_offer(sdp))
    }

    fn accept_answer(&self, py: Python<'_>, sdp: String) -> PyResult<()> {
        self.describe(py, sdp, |connection, sdp| connection.accept_answer(sdp))
    }

    /// A trickled candidate, from "candidate:" on; empty for the end of candidates.
    fn add_candidate(&self, py: Python<'_>, candidate: String) -> PyResult<()> {
        self.with(py, move |connection| connection.add_remote_candidate(&candidate))
    }

    /// Tells the peer, and ends it. What is buffered is lost.
    fn close(&self) {
        let id = self.shared.id;
        self.hand.post(move |endpoint, _| {
            if let Some(mut connection) = endpoint.connection(id) {
                connection.close();
            }
        });
    }

    /// Whether servers are being asked for candidates; its end is told.
    #[getter]
    fn is_gathering(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |connection| Ok(connection.is_gathering()))
    }

    /// Servers that were of no use, and why: since the last call.
    fn server_failures(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.shared.now().server_failures)
    }

    /// The description that was made last, with all candidates known by now.
    fn local_description(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |connection| Ok(connection.local_description()))
    }

    /// All statistics, each with its W3C type and an id.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (report, stats) = self.with(py, |connection| Ok((connection.report(), connection.stats())))?;
        report::listed(py, &report, &stats)
    }
}
