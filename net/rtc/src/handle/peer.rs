//! What the connections of both faces have in common.

use std::any::Any;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use netdyno_rtc_core::{ChannelId, ChannelOptions, Fingerprint, PeerState, Report, SelectedPair, Stats};

use super::channel::Channel;
use super::hub::{Hub, State};
use super::peers::ChannelState;
use super::shared_peer::PeerInner;
use super::waiters::Wait;
use crate::engine::{Connection, Port};
use crate::error::Error;

/// A connection of the blocking or the Tokio face: what can be done without waiting. It is closed when it and all
/// of its channels are dropped: what was not sent by then is lost, as by [`close`](Peer::close).
#[derive(Debug, Clone)]
pub struct Peer {
    inner: Arc<PeerInner>,
}

impl Peer {
    pub(crate) fn new(hub: Arc<Hub>, driver: Arc<dyn Any + Send + Sync>, port: Port) -> Result<Self, Error> {
        Ok(Self { inner: Arc::new(PeerInner::new(hub, driver, port)?) })
    }

    /// An offer with all candidates, for the other side. Create a channel first, or the peer has no reason to
    /// connect.
    pub fn create_offer(&self) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.create_offer(false)?))
    }

    /// An offer with new ICE credentials, for a path that was lost. Also where the connection has failed, as long as it is not
    /// [over](Self::is_over): channels go on, and what was not delivered is.
    pub fn restart_ice(&self) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.create_offer(true)?))
    }

    /// Whether an offer of ours waits for its answer.
    pub fn has_local_offer(&self) -> bool {
        self.ask(|connection| connection.has_local_offer()).unwrap_or(false)
    }

    /// Withdraws the offer of ours that waits for its answer: all is as before it, and an offer of the peer can be taken. When both
    /// sides offer at once, the one that is to give way does this and takes the other's offer.
    pub fn rollback(&self) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.rollback()?))
    }

    /// Takes the peer's offer and gives the answer.
    pub fn accept_offer(&self, offer: &str) -> Result<String, Error> {
        self.inner.with(|connection| Ok(connection.accept_offer(offer)?))
    }

    /// Takes the peer's answer to the offer of ours.
    pub fn accept_answer(&self, answer: &str) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.accept_answer(answer)?))
    }

    /// A candidate of the peer that came after its description, from "candidate:" on; empty for the end of
    /// candidates.
    pub fn add_remote_candidate(&self, candidate: &str) -> Result<(), Error> {
        self.inner.with(|connection| Ok(connection.add_remote_candidate(candidate)?))
    }

    /// The description that was made last, now with all candidates that are known (W3C localDescription): for those who wait until there are no
    /// more, in place of trickling. `None` before the first one, after one was withdrawn, and once the connection is over.
    pub fn local_description(&self) -> Option<String> {
        self.ask(|connection| connection.local_description())?
    }

    /// Candidates of ours known by now, as lines from "candidate:" on.
    pub fn local_candidates(&self) -> Vec<String> {
        let id = self.inner.id;
        let lines = |state: &mut State| state.engine.connection(id).map(|it| it.local_candidates());
        self.inner.hub.look(lines).unwrap_or_default()
    }

    /// Which of [`Settings::ice_servers`](crate::Settings::ice_servers) were of no use to this connection, and why: a line each, the latest last, 16
    /// at the most. [`Event::ServerFailed`](crate::Event::ServerFailed) on the other face.
    pub fn server_failures(&self) -> Vec<String> {
        self.inner.entry(|entry| {
            entry.map(|entry| entry.server_failures.iter().cloned().collect()).unwrap_or_default()
        })
    }

    /// State of the connection.
    pub fn state(&self) -> PeerState {
        self.inner.entry(|entry| entry.map_or(PeerState::Closed, |entry| entry.state))
    }

    /// Whether it has ended. One that has [failed](PeerState::Failed) may be kept for a restart of ICE
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)).
    pub fn is_over(&self) -> bool {
        self.inner.entry(|entry| entry.is_none_or(|entry| entry.is_over))
    }

    /// Statistics; `None` once it is over.
    pub fn stats(&self) -> Option<Stats> {
        self.ask(|connection| connection.stats())
    }

    /// All statistics, as W3C getStats gives them; `None` once it is over.
    pub fn report(&self) -> Option<Report> {
        self.ask(|connection| connection.report())
    }

    /// The candidates that data goes between now; `None` while there is no path.
    pub fn selected_pair(&self) -> Option<SelectedPair> {
        self.ask(|connection| connection.selected_pair())?
    }

    /// The address that data goes to now; `None` while there is no path.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.ask(|connection| connection.remote_address())?
    }

    /// The fingerprint of our certificate; `None` once the connection is over.
    pub fn local_fingerprint(&self) -> Option<Fingerprint> {
        self.ask(|connection| connection.local_fingerprint())
    }

    /// The fingerprint that the peer's description promises, once it is taken. Who is connected has proved to have it.
    pub fn remote_fingerprint(&self) -> Option<Fingerprint> {
        self.ask(|connection| connection.remote_fingerprint())?
    }

    /// The peer's certificate (DER), once it has shown the right one, until the connection is over.
    pub fn remote_certificate(&self) -> Option<Vec<u8>> {
        self.ask(|connection| connection.remote_certificate().map(<[u8]>::to_vec))?
    }

    /// Ends the connection: the peer is told, in one datagram. What is buffered is lost: close the channels, and
    /// wait for that, to have all of it delivered.
    pub fn close(&self) {
        // If it is over already there is nothing to close.
        let _ = self.inner.with(|connection| {
            connection.close();
            Ok(())
        });
    }

    /// What the connection says of itself; `None` once it is over.
    fn ask<T>(&self, ask: impl FnOnce(&Connection<'_>) -> T) -> Option<T> {
        let id = self.inner.id;
        self.inner.hub.look(|state| state.engine.connection(id).map(|connection| ask(&connection)))
    }

    pub(crate) fn open_channel(&self, label: &str, options: ChannelOptions) -> Result<Channel, Error> {
        let (key, id) = (self.inner.key, self.inner.id);
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
                return Poll::Ready(Err(entry.why_over()));
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
            // What the connection says itself: of a restart that has just begun the events may not have been dealt out.
            let known = state.engine.connection(id).map(|connection| {
                (connection.state(), connection.failure().map(|error| Error::Peer(error.clone())))
            });
            let (state, failure) = known.unwrap_or((entry.state, None));
            match state {
                PeerState::Connected | PeerState::Disconnected => Poll::Ready(Ok(())),
                PeerState::Closed | PeerState::Failed => {
                    Poll::Ready(Err(failure.unwrap_or_else(|| entry.why_over())))
                }
                _ => {
                    entry.watchers.register(wait);
                    Poll::Pending
                }
            }
        })
    }

    /// Ready when the servers have been asked, or there are none.
    pub(crate) fn poll_gathered(&self, wait: &mut Wait<'_>) -> Poll<()> {
        self.poll_gathering(wait, |_| None::<()>).map(|_| ())
    }

    /// Ready with the next candidate that was found since the first description; None: there are no more.
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

    /// Ready when the state is another one than `last`, or the last of all.
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
