//! Datagrams in, messages out.

use std::time::{Duration, Instant};

use bytes::Bytes;
use netdyno_sctp::{Ppid, StreamId};

use super::{Event, Kind, Message, PeerConnection};
use crate::dcep::Dcep;
use crate::ice::Path;
use crate::log::log;

impl PeerConnection {
    /// Sorts the datagrams by their first byte (RFC 7983 section 7) and passes them on. What they cause is settled
    /// once, by the caller.
    pub(super) fn receive(&mut self, now: Instant, path: Path, datagrams: &mut [u8], segment_bytes: usize) {
        self.counters.traffic.bytes_received += datagrams.len() as u64;
        let mut validated = false;
        for datagram in datagrams.chunks_mut(segment_bytes.max(1)) {
            self.counters.traffic.packets_received += 1;
            match datagram.first() {
                Some(0..=3) => {
                    self.ice.handle_stun(now, path, datagram);
                    let is_authentic = self.ice.is_validated(path.remote);
                    if let Some(news) = self.pairs.received(now, path, datagram, is_authentic) {
                        self.log_check(path, news);
                    }
                }
                Some(20..=63) => {
                    validated = validated
                        || self.ice.is_validated(path.remote)
                        || self.is_from_elsewhere(now, path, datagram);
                    if validated {
                        self.receive_dtls(now, datagram);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a datagram from an address that ICE does not know is the peer's, who may have moved there.
    #[cold]
    fn is_from_elsewhere(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        if self.ice.is_moving_to(path.remote) {
            return true;
        }
        let is_followed = self.accepts_dtls(datagram) && self.ice.follow(now, path);
        if is_followed {
            log!(DEBUG, self.session_id(), "the peer sends from {}, which is asked", path.remote);
        }
        is_followed
    }

    /// How long datagrams of the peer may be left where they are, to be handed in together: see
    /// [`Association::patience`](netdyno_sctp::Association::patience).
    pub fn patience(&self) -> Duration {
        self.transport.association.as_ref().map_or(Duration::ZERO, |association| association.patience())
    }

    fn receive_dtls(&mut self, now: Instant, datagram: &mut [u8]) {
        if self.transport.dtls.is_none() {
            self.begin_transport(now);
        }
        let transport = &mut self.transport;
        let (Some(dtls), Some(association)) = (&mut transport.dtls, &mut transport.association) else {
            return;
        };
        dtls.handle_datagram(now, datagram, &mut |packet| association.handle_packet(now, packet));
    }

    /// The next message, of any channel, in the order of arrival. Taking it opens the receive window; leaving it holds
    /// the peer back. What the peer sent before it closed a channel, or the connection, can be taken after. Gives none while
    /// the next message is of a channel whose [`Event::Incoming`] was not polled yet.
    pub fn recv(&mut self) -> Option<Message> {
        if self.transport.waiting.is_none() && self.unpolled_incoming == 0 {
            let message = self.next_of_application();
            if self.unpolled_incoming == 0 {
                return message;
            }
            self.transport.waiting = message;
        }
        self.pull();
        // The application hears of a channel before it gets a message of it.
        let announced = |message: &mut Message| !self.events.contains(&Event::Incoming(message.channel));
        let message = self.transport.waiting.take_if(announced)?;
        // The channel may have waited for this to be taken.
        self.finish_if_reset(message.channel);
        Some(message)
    }

    /// Whether there is a message to take, of whatever channel. To find out, what stands before it is dealt with: poll
    /// events after.
    pub fn has_message(&mut self) -> bool {
        self.fetch();
        self.transport.waiting.is_some()
    }

    /// Takes what the association has for us, up to the first message for the application. That one waits here, and
    /// everything behind it there.
    pub(super) fn pull(&mut self) {
        if !self.is_over() {
            self.fetch();
        }
    }

    /// The same, whether the connection is over or not.
    fn fetch(&mut self) {
        if self.transport.waiting.is_none() {
            self.transport.waiting = self.next_of_application();
        }
    }

    fn next_of_application(&mut self) -> Option<Message> {
        loop {
            if !self.has_room_for_events() {
                return None;
            }
            // A reset is told between the messages before it and those after it.
            self.settle_association(self.now);
            let message = self.transport.next_message()?;
            let netdyno_sctp::Message { stream, ppid, data } = message;
            let message = match ppid {
                Ppid::DCEP => {
                    self.take_dcep(stream, &data);
                    None
                }
                _ => self.take_message(stream, ppid, data),
            };
            if message.is_some() {
                return message;
            }
        }
    }

    fn take_message(&mut self, stream: StreamId, ppid: Ppid, data: Bytes) -> Option<Message> {
        let (kind, data) = match ppid {
            Ppid::STRING => (Kind::Text, data),
            Ppid::BINARY => (Kind::Binary, data),
            // One byte that stands for nothing (RFC 8831 section 6.6).
            Ppid::STRING_EMPTY => (Kind::Text, Bytes::new()),
            Ppid::BINARY_EMPTY => (Kind::Binary, Bytes::new()),
            _ => return None,
        };
        let (id, channel) = self.channels.at_stream(stream)?;
        if channel.discards {
            return None;
        }
        if kind == Kind::Text && std::str::from_utf8(&data).is_err() {
            // RFC 8831 section 8: a string is UTF-8.
            self.close_channel(self.now, id);
            return None;
        }
        channel.stats.messages_received += 1;
        channel.stats.bytes_received += data.len() as u64;
        Some(Message { channel: id, kind, data })
    }

    fn take_dcep(&mut self, stream: StreamId, data: &[u8]) {
        match Dcep::parse(data) {
            Some(Dcep::Open(open)) => self.peer_opens(stream, open),
            Some(Dcep::Ack) => {
                if let Some((_, channel)) = self.channels.at_stream(stream) {
                    channel.acknowledged = true;
                }
            }
            None => self.refuse(stream),
        }
    }
}
