//! Incoming datagrams and messages.

use std::time::{Duration, Instant};

use bytes::Bytes;
use netdyno_sctp::{Ppid, StreamId};

use super::{Event, Kind, Message, PeerConnection};
use crate::dcep::Dcep;
use crate::ice::Path;
use crate::log::log;

impl PeerConnection {
    /// Demultiplexes datagrams by their first byte (RFC 7983 section 7). The caller processes the
    /// consequences once for all of them.
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

    /// Whether a datagram from an address unknown to ICE is from the peer, which may have moved there.
    #[cold]
    fn is_from_elsewhere(&mut self, now: Instant, path: Path, datagram: &[u8]) -> bool {
        if self.ice.is_moving_to(path.remote) {
            return true;
        }
        let is_followed = self.accepts_dtls(datagram) && self.ice.follow(now, path);
        if is_followed {
            log!(DEBUG, self.session_id(), "the peer sends from {}, which is now checked", path.remote);
        }
        is_followed
    }

    /// How long incoming datagrams may be left waiting in order to be handed in together: see
    /// [`Association::max_receive_delay`](netdyno_sctp::Association::max_receive_delay).
    pub fn max_receive_delay(&self) -> Duration {
        self.transport
            .association
            .as_ref()
            .map_or(Duration::ZERO, |association| association.max_receive_delay())
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

    /// Returns the next message of any channel, in the order of arrival. Receiving opens the receive window;
    /// not receiving slows down the peer. Messages sent before the peer closed a channel or the connection
    /// can still be received afterwards. Returns nothing while the next message belongs to a channel whose
    /// [`Event::Incoming`] was not polled yet.
    pub fn recv(&mut self) -> Option<Message> {
        if self.transport.waiting.is_none() && self.unpolled_incoming == 0 {
            let message = self.next_of_application();
            if self.unpolled_incoming == 0 {
                return message;
            }
            self.transport.waiting = message;
        }
        self.pull();
        // A channel is reported to the application before its messages.
        let announced = |message: &mut Message| !self.events.contains(&Event::Incoming(message.channel));
        let message = self.transport.waiting.take_if(announced)?;
        // The channel may have waited for this message to be received.
        self.finish_if_reset(message.channel);
        Some(message)
    }

    /// Whether there is a message to receive on any channel. This processes what precedes it: poll events
    /// afterwards.
    pub fn has_message(&mut self) -> bool {
        self.fetch();
        self.transport.waiting.is_some()
    }

    /// Processes what the association has received, up to the first message for the application. That one
    /// waits here, and everything after it in the association.
    pub(super) fn pull(&mut self) {
        if !self.is_over() {
            self.fetch();
        }
    }

    /// The same, whether or not the connection has ended.
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
            // A reset is processed between the messages before it and those after it.
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
            // The single byte is a placeholder (RFC 8831 section 6.6).
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
