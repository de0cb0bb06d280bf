//! Stub for systems on which netdyno-io has no streams.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use netdyno_io::Poller;

use super::event::{Frames, Owner, StreamError, StreamEvent};
use super::tls::Secure;

/// Identifies a stream; there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamId {}

#[derive(Debug, Default)]
pub(crate) struct Streams;

impl Streams {
    pub(crate) fn open(
        &mut self,
        _: &Poller,
        _: Option<IpAddr>,
        _: SocketAddr,
        _: Option<&Secure>,
        _: Owner,
    ) -> Result<StreamId, StreamError> {
        Err(StreamError {
            why: "TCP to servers is supported on Linux only: use ?transport=udp".to_owned(),
            is_final: true,
        })
    }

    pub(crate) fn listen(&mut self, _: &Poller, _: SocketAddr) -> io::Result<SocketAddr> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "TCP is supported on Linux only"))
    }

    pub(crate) fn claim(&mut self, id: StreamId, _: u32) {
        match id {}
    }

    pub(crate) fn owner(&self, id: StreamId) -> Option<Owner> {
        match id {}
    }

    pub(crate) fn ends(&self, id: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        match id {}
    }

    pub(crate) fn are_ready(&mut self) {}

    pub(crate) fn next(&mut self, _: Instant) -> Option<Instant> {
        None
    }

    pub(crate) fn turn(&mut self, _: Instant) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn next_event(&mut self) -> Option<(Owner, StreamId, StreamEvent)> {
        None
    }

    pub(crate) fn refusals(&self) -> (u64, u64) {
        (0, 0)
    }

    pub(crate) fn take_back(&mut self, id: StreamId, _: Frames) {
        match id {}
    }

    pub(crate) fn send(&mut self, id: StreamId, _: &[u8]) -> io::Result<()> {
        match id {}
    }

    pub(crate) fn close(&mut self, id: StreamId) {
        match id {}
    }
}
