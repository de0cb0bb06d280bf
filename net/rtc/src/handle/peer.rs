//! Connections of the blocking and the Tokio interface.

use std::any::Any;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use netdyno_io::hub::Wait;
use netdyno_rtc_core::{ChannelId, ChannelOptions, Fingerprint, PeerState, Report, SelectedPair, Stats};

use super::channel::Channel;
use super::hub::{Hub, State};
use super::peers::ChannelState;
use super::shared_peer::PeerInner;
use crate::engine::{Connection, Port};
use crate::error::Error;

/// A connection of the blocking or the Tokio interface: the methods that do not wait. It is closed when it
/// and all of its channels are dropped; unsent data is then lost, as with [`close`](Peer::close).
#[derive(Debug, Clone)]
pub struct Peer {
    inner: Arc<PeerInner>,
}

impl Peer {
    pub(crate) fn new(hub: Arc<Hub>, driver: Arc<dyn Any + Send + Sync>, port: Port) -> Result<Self, Error> {
        Ok(Self { inner: Arc::new(PeerInner::new(hub, driver, port)?) })
    }

    /// Creates an offer with all candidates known so far. Create a channel first; without one there is
    /// nothing to connect for.
    pub fn create_offer(&self) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.create_offer(false)?))
    }

    /// Creates an offer with new ICE credentials, to replace a lost path. Also works for a failed connection
    /// that is not [over](Self::is_over): its channels continue, and undelivered messages are delivered.
    pub fn restart_ice(&self) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.create_offer(true)?))
    }

    /// Whether a local offer awaits its answer.
    pub fn has_local_offer(&self) -> bool {
        self.ask(|connection| connection.has_local_offer()).unwrap_or(false)
    }

    /// Withdraws the local offer that awaits its answer, so that an offer of the peer can be accepted. When
    /// both sides offer at once, the polite side calls this and accepts the other offer.
    pub fn rollback(&self) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.rollback()?))
    }

    /// Accepts the peer's offer and returns the answer.
    pub fn accept_offer(&self, offer: &str) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.accept_offer(offer)?))
    }

    /// Accepts the peer's answer to the local offer.
    pub fn accept_answer(&self, answer: &str) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.accept_answer(answer)?))
    }

    /// Adds a trickled candidate of the peer, from "candidate:" on; an empty string ends the candidates.
    pub fn add_remote_candidate(&self, candidate: &str) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.add_remote_candidate(candidate)?))
    }

    /// The latest local description with all candidates known now (W3C localDescription), for applications
    /// that wait for gathering instead of trickling. `None` before the first description, after a rollback,
    /// and once the connection is over.
    pub fn local_description(&self) -> Option<String> {
        self.ask(|connection| connection.local_description())?
    }

    /// Local candidates known so far, as lines from "candidate:" on.
    pub fn local_candidates(&self) -> Vec<String> {
        let id = self.inner.id;
        let lines = |state: &mut State| state.engine.connection(id).map(|it| it.local_candidates());
        self.inner.hub.look(lines).unwrap_or_default()
    }

    /// Failures of [`Settings::ice_servers`](crate::Settings::ice_servers) for this connection, one line each
    /// with the URL and the reason; the latest 16, oldest first. The [`Endpoint`](crate::Endpoint) interface
    /// reports them by [`Event::ServerFailed`](crate::Event::ServerFailed).
    pub fn server_failures(&self) -> Vec<String> {
        self.inner.entry(|entry| {
            entry.map(|entry| entry.server_failures.iter().cloned().collect()).unwrap_or_default()
        })
    }

    /// The state of the connection.
    pub fn state(&self) -> PeerState {
        self.inner.entry(|entry| entry.map_or(PeerState::Closed, |entry| entry.state))
    }

    /// Whether the connection has ended. A [failed](PeerState::Failed) one may be kept for an ICE restart
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)).
    pub fn is_over(&self) -> bool {
        self.inner.entry(|entry| entry.is_none_or(|entry| entry.is_over))
    }

    /// Statistics; `None` once the connection is over.
    pub fn stats(&self) -> Option<Stats> {
        self.ask(|connection| connection.stats())
    }

    /// All statistics of W3C getStats; `None` once the connection is over.
    pub fn report(&self) -> Option<Report> {
        self.ask(|connection| connection.report())
    }

    /// The candidate pair in use; `None` while there is no path.
    pub fn selected_pair(&self) -> Option<SelectedPair> {
        self.ask(|connection| connection.selected_pair())?
    }

    /// The address to which data is sent; `None` while there is no path.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.ask(|connection| connection.remote_address())?
    }

    /// The fingerprint of the local certificate; `None` once the connection is over.
    pub fn local_fingerprint(&self) -> Option<Fingerprint> {
        self.ask(|connection| connection.local_fingerprint())
    }

    /// The fingerprint in the peer's description, once accepted. A connected peer has proven that it owns the
    /// certificate.
    pub fn remote_fingerprint(&self) -> Option<Fingerprint> {
        self.ask(|connection| connection.remote_fingerprint())?
    }

    /// The peer's certificate (DER), from its verification until the connection is over.
    pub fn remote_certificate(&self) -> Option<Vec<u8>> {
        self.ask(|connection| connection.remote_certificate().map(<[u8]>::to_vec))?
    }

    /// Closes the connection and notifies the peer in one datagram. Buffered data is lost: to have it
    /// delivered, close the channels and wait until they are closed.
    pub fn close(&self) {
        // A connection that is over needs no closing.
        let _ = self.inner.with(|connection| {
            connection.close();
            Ok(())
        });
    }

    /// Reads something from the connection; `None` once it is over.
    fn ask<T>(&self, ask: impl FnOnce(&Connection<'_>) -> T) -> Option<T> {
        let id = self.inner.id;
        self.inner.hub.look(|state| state.engine.connection(id).map(|connection| ask(&connection)))
    }

    pub(crate) fn open_channel(&self, label: &str, options: ChannelOptions) -> Result<Channel, Error> {
        let (key, id) = (self.inner.key, self.inner.id);
        self.inner.hub.check_driver()?;
        let channel = self.inner.hub.act(|state| -> Result<ChannelId, Error> {
            let mut connection = state.engine.connection(id).ok_or(Error::Closed)?;
            let channel = connection.create_channel(label, options)?;
            let entry = state.peers.get_mut(key).ok_or(Error::Closed)?;
            entry.channels.insert(channel, ChannelState::default());
            Ok(channel)
        })?;
        Ok(Channel::new(self.inner.clone(), channel, label.to_owned()))
    }

    pub(crate) fn poll_channel(&self, wait: &mut Wait<'_>) -> Poll<Result<Channel, Error>> {
        let found = self.inner.entry(|entry| {
            let Some(entry) = entry else { return Poll::Ready(Err(Error::Closed)) };
            if let Some(incoming) = entry.incoming.pop_front() {
                return Poll::Ready(Ok(incoming));
            }
            if entry.is_over {
                return Poll::Ready(Err(entry.end_reason()));
            }
            entry.acceptors.register(wait);
            Poll::Pending
        });
        found.map_ok(|(channel, label)| Channel::new(self.inner.clone(), channel, label))
    }

    pub(crate) fn poll_connected(&self, wait: &mut Wait<'_>) -> Poll<Result<(), Error>> {
        let (key, id) = (self.inner.key, self.inner.id);
        self.inner.hub.look(|state| {
            let Some(entry) = state.peers.get_mut(key) else { return Poll::Ready(Err(Error::Closed)) };
            // Asks the connection itself: events of a restart that has just begun may not be delivered yet.
            let known = state.engine.connection(id).map(|connection| {
                (connection.state(), connection.failure().map(|error| Error::Peer(error.clone())))
            });
            let (state, failure) = known.unwrap_or((entry.state, None));
            match state {
                PeerState::Connected | PeerState::Disconnected => Poll::Ready(Ok(())),
                PeerState::Closed | PeerState::Failed => {
                    Poll::Ready(Err(failure.unwrap_or_else(|| entry.end_reason())))
                }
                _ => {
                    entry.watchers.register(wait);
                    Poll::Pending
                }
            }
        })
    }

    /// Ready when all servers have been queried, or there are none.
    pub(crate) fn poll_gathered(&self, wait: &mut Wait<'_>) -> Poll<()> {
        self.poll_gathering(wait, |_| None::<()>).map(|_| ())
    }

    /// Ready with the next candidate found since the first description; `None`: gathering is complete.
    pub(crate) fn poll_candidate(&self, wait: &mut Wait<'_>) -> Poll<Option<String>> {
        self.poll_gathering(wait, |candidates| candidates.pop_front())
    }

    fn poll_gathering<T>(
        &self,
        wait: &mut Wait<'_>,
        take: impl FnOnce(&mut VecDeque<String>) -> Option<T>,
    ) -> Poll<Option<T>> {
        let (key, id) = (self.inner.key, self.inner.id);
        self.inner.hub.look(|state| {
            let is_gathering = state.engine.connection(id).is_some_and(|it| it.is_gathering());
            let Some(entry) = state.peers.get_mut(key) else { return Poll::Ready(None) };
            if let Some(taken) = take(&mut entry.candidates) {
                return Poll::Ready(Some(taken));
            }
            if !is_gathering || entry.is_over {
                return Poll::Ready(None);
            }
            entry.watchers.register(wait);
            Poll::Pending
        })
    }

    /// Ready when the state differs from `last` or is final.
    pub(crate) fn poll_state(&self, wait: &mut Wait<'_>, last: PeerState) -> Poll<PeerState> {
        self.inner.entry(|entry| {
            let Some(entry) = entry else { return Poll::Ready(PeerState::Closed) };
            if entry.state != last || entry.is_over {
                return Poll::Ready(entry.state);
            }
            entry.watchers.register(wait);
            Poll::Pending
        })
    }

    pub(crate) fn poll_over(&self, wait: &mut Wait<'_>) -> Poll<Result<(), Error>> {
        self.inner.entry(|entry| {
            let Some(entry) = entry else { return Poll::Ready(Ok(())) };
            if entry.is_over {
                return Poll::Ready(entry.failure.clone().map_or(Ok(()), |error| Err(Error::Peer(error))));
            }
            entry.watchers.register(wait);
            Poll::Pending
        })
    }
}
