//! A connection as the Python half sees it.

use std::sync::Arc;
use std::time::Duration;

use netdyno_rtc::core::IceState;
use netdyno_rtc::{ChannelOptions, Connection, Error, PeerState, Reliability, SignalingError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::channel::Channel;
use crate::handle::DriverHandle;
use crate::report;
use crate::shared::SharedPeer;

/// A connection. Its events are reported under its number.
#[pyclass(frozen, module = "netdyno_rtc._native")]
pub(crate) struct Peer {
    handle: Arc<DriverHandle>,
    shared: Arc<SharedPeer>,
}

impl Peer {
    pub(crate) fn new(handle: Arc<DriverHandle>, shared: Arc<SharedPeer>) -> Self {
        Self { handle, shared }
    }

    /// Runs a closure on the connection, on the driver's thread.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Connection<'_>) -> Result<T, SignalingError> + Send + 'static,
    ) -> PyResult<T> {
        let id = self.shared.id;
        self.handle.run(py, move |endpoint, _| {
            let mut connection = endpoint.connection(id).ok_or(Error::Closed)?;
            Ok(act(&mut connection)?)
        })
    }

    /// As `with`, for a description of the peer.
    fn describe<T: Send + 'static>(
        &self,
        py: Python<'_>,
        sdp: String,
        act: impl FnOnce(&mut Connection<'_>, &str) -> Result<T, SignalingError> + Send + 'static,
    ) -> PyResult<T> {
        let id = self.shared.id;
        self.handle.run(py, move |endpoint, connections| {
            let mut connection = endpoint.connection(id).ok_or(Error::Closed)?;
            let done = act(&mut connection, &sdp)?;
            connections.described(id, &sdp);
            Ok(done)
        })
    }
}

#[pymethods]
impl Peer {
    #[getter]
    fn number(&self) -> u64 {
        self.shared.source.number
    }

    /// connectionState, iceConnectionState, and the reason of a failure.
    #[getter]
    fn state(&self) -> (&'static str, &'static str, Option<String>) {
        let now = self.shared.status();
        let ice = match (now.state, now.ice) {
            (PeerState::Closed, _) => "closed",
            // All candidates are known with the description, so "connected" is final.
            (_, IceState::Connected) => "completed",
            (_, other) => other.name(),
        };
        (now.state.name(), ice, now.failure.clone())
    }

    /// Whether the connection has ended.
    #[getter]
    fn is_over(&self) -> bool {
        self.shared.status().is_over
    }

    /// The longest message that the peer accepts.
    #[getter]
    fn max_message_bytes(&self) -> u64 {
        self.shared.max_message_bytes.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Channels that the peer has opened since the last call.
    fn incoming(&self) -> Vec<Channel> {
        let incoming = std::mem::take(&mut self.shared.status().incoming);
        incoming.into_iter().map(|shared| Channel::new(self.handle.clone(), shared)).collect()
    }

    /// Creates a channel.
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
        let create = self
            .handle
            .run(py, move |endpoint, connections| connections.create_channel(endpoint, id, &label, options));
        Ok(Channel::new(self.handle.clone(), create?))
    }

    fn create_offer(&self, py: Python<'_>, restart: bool) -> PyResult<String> {
        self.with(py, move |connection| connection.create_offer(restart))
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |connection| connection.rollback())
    }

    /// Accepts the peer's offer and returns the answer.
    fn accept_offer(&self, py: Python<'_>, sdp: String) -> PyResult<String> {
        self.describe(py, sdp, |connection, sdp| connection.accept_offer(sdp))
    }

    fn accept_answer(&self, py: Python<'_>, sdp: String) -> PyResult<()> {
        self.describe(py, sdp, |connection, sdp| connection.accept_answer(sdp))
    }

    /// Adds a trickled candidate, from "candidate:" on; an empty string ends the candidates.
    fn add_candidate(&self, py: Python<'_>, candidate: String) -> PyResult<()> {
        self.with(py, move |connection| connection.add_remote_candidate(&candidate))
    }

    /// Closes the connection and notifies the peer. Buffered data is lost.
    fn close(&self) {
        let id = self.shared.id;
        self.handle.post(move |endpoint, _| {
            if let Some(mut connection) = endpoint.connection(id) {
                connection.close();
            }
        });
    }

    /// Whether servers are being queried for candidates; `GATHERED` reports the end.
    #[getter]
    fn is_gathering(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |connection| Ok(connection.is_gathering()))
    }

    /// Server failures since the last call: URLs and reasons.
    fn server_failures(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.shared.status().server_failures)
    }

    /// The latest local description, with all candidates known now.
    fn local_description(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |connection| Ok(connection.local_description()))
    }

    /// All statistics, each with its W3C type and an id.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (report, stats) = self.with(py, |connection| Ok((connection.report(), connection.stats())))?;
        report::listed(py, &report, &stats)
    }
}
