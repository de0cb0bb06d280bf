//! In place of streams where netdyno-io has none: there are none.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use netdyno_io::Poller;

use super::{Loss, News, Secure};

/// Names a stream, of which there is none.
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
        _: u32,
    ) -> Result<StreamId, Loss> {
        Err(Loss { why: "TCP to servers is for Linux only: use ?transport=udp".to_owned(), is_final: true })
    }

    pub(crate) fn are_ready(&mut self) {}

    pub(crate) fn next(&mut self, _: Instant) -> Option<Instant> {
        None
    }

    pub(crate) fn turn(&mut self, _: Instant) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn next_news(&mut self) -> Option<(u32, StreamId, News)> {
        None
    }

    pub(crate) fn send(&mut self, id: StreamId, _: &[u8]) -> io::Result<()> {
        match id {}
    }

    pub(crate) fn close(&mut self, id: StreamId) {
        match id {}
    }
}
