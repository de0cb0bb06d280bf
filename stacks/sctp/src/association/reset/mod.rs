//! Stream resets (RFC 6525) in both directions. TSN resets and stream additions are refused: WebRTC does not
//! use them (RFC 8831 section 6.2).

mod incoming;
mod outgoing;

use std::time::Instant;

use super::timer::Timer;
use super::{Association, Event};
use crate::error::{AssociationError, ResetError};
use crate::types::{StreamId, Tsn};
use crate::wire::{PacketWriter, ReConfig, ReConfigItem, ReConfigSeq, Streams};

use incoming::Incoming;
use outgoing::{Answer, Outgoing};

/// Pending resets.
#[derive(Debug)]
pub(super) struct Resets {
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Resets {
    /// Requests are numbered from the initial TSNs (RFC 6525 section 4.1).
    pub(super) fn new(local_tsn: Tsn, peer_tsn: Tsn) -> Self {
        Self {
            outgoing: Outgoing::new(ReConfigSeq(local_tsn.0)),
            incoming: Incoming::new(ReConfigSeq(peer_tsn.0)),
        }
    }

    /// Whether nothing is to be written.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.outgoing.is_at_rest() && self.incoming.is_at_rest()
    }

    /// Whether a reset by the peer waits for data that it sent before.
    #[inline]
    pub(super) fn is_deferred(&self) -> bool {
        self.incoming.is_deferred()
    }
}

impl Association {
    /// See [`Association::reset_streams`].
    pub(super) fn close_streams(&mut self, streams: &[StreamId]) -> Result<(), ResetError> {
        if !self.phase.takes_messages() || !self.phase.is_set_up() {
            return Err(ResetError::NotOpen);
        }
        if !self.terms.re_config {
            return Err(ResetError::Unsupported);
        }
        for &stream in streams.iter().filter(|stream| stream.0 < self.terms.outbound_streams) {
            if self.resets.outgoing.close(stream) {
                self.outbound.close_stream(stream);
            }
        }
        Ok(())
    }

    /// Handles a RE-CONFIG.
    pub(super) fn handle_re_config(&mut self, now: Instant, chunk: &ReConfig<'_>) {
        for item in chunk.items() {
            match item {
                ReConfigItem::OutgoingReset { request, last_tsn, streams, .. } => {
                    self.handle_outgoing_reset(request, last_tsn, streams);
                }
                ReConfigItem::IncomingReset { request, streams } => {
                    self.handle_incoming_reset(request, streams);
                }
                ReConfigItem::TsnReset { request }
                | ReConfigItem::AddOutgoing { request, .. }
                | ReConfigItem::AddIncoming { request, .. } => self.resets.incoming.refuse(request),
                ReConfigItem::Response { response, result, .. } => {
                    if let Some(answer) = self.resets.outgoing.handle_answer(response, result) {
                        self.conclude_request(now, answer);
                    }
                }
            }
        }
    }

    /// Performs the deferred request once all earlier data has arrived.
    pub(super) fn resume_deferred_reset(&mut self) {
        let Some((last_tsn, streams)) = self.resets.incoming.deferred() else { return };
        if !last_tsn.is_after(self.inbound.cumulative_tsn()) && self.events.has_room_for_reset(streams) {
            let streams = self.resets.incoming.perform_deferred();
            self.perform_incoming(streams);
        }
    }

    /// The request timer has expired.
    pub(super) fn handle_reset_timeout(&mut self) {
        if self.resets.outgoing.handle_timeout() > self.config.limits.max_retransmits {
            self.fail(AssociationError::TimedOut("RE-CONFIG"));
        }
    }

    /// Writes pending answers, and the request if it is due.
    pub(super) fn write_resets(&mut self, now: Instant, packet: &mut PacketWriter<'_>) {
        while let Some(item) = self.resets.incoming.answer()
            && ReConfig::write(packet, &[item])
        {
            self.resets.incoming.answer_written();
        }
        if !self.phase.gives_data() {
            return;
        }
        let outbound = &self.outbound;
        let is_drained = outbound.is_drained();
        let last_tsn = outbound.next_tsn().previous();
        self.resets.outgoing.gather(last_tsn, is_drained, |stream| outbound.is_stream_drained(stream));
        let response = self.resets.incoming.last_request();
        let Some(request) = self.resets.outgoing.due_request() else { return };
        let item = ReConfigItem::OutgoingReset {
            request: request.number,
            response,
            last_tsn: request.last_tsn,
            streams: Streams::from(&request.streams[..]),
        };
        if ReConfig::write(packet, &[item]) {
            let rto = self.outbound.rto();
            let wait = self.resets.outgoing.request_written(rto, self.config.rto_max);
            self.timers.start(Timer::Reset, now, wait);
        }
    }

    fn handle_outgoing_reset(&mut self, request: ReConfigSeq, last_tsn: Tsn, streams: Streams<'_>) {
        if !self.resets.incoming.begin(request) {
            return;
        }
        if { streams }.any(|stream| stream.0 >= self.terms.inbound_streams) {
            self.resets.incoming.refuse_stream();
            return;
        }
        self.resets.incoming.defer(last_tsn, streams.collect());
        self.resume_deferred_reset();
    }

    /// The peer asks us to reset our streams. This works like our own reset, and the answer is our request
    /// (RFC 6525 section 5.2.3). Resetting all streams at once is refused: only our application knows which
    /// ones it uses.
    fn handle_incoming_reset(&mut self, request: ReConfigSeq, streams: Streams<'_>) {
        if !self.resets.incoming.begin(request) {
            return;
        }
        if streams.len() == 0 || { streams }.any(|stream| stream.0 >= self.terms.outbound_streams) {
            self.resets.incoming.refuse_stream();
            return;
        }
        // An unused stream needs no reset, and a peer must not make us store thousands of them.
        let used: Vec<StreamId> = streams.filter(|&stream| self.outbound.has_stream(stream)).collect();
        if used.is_empty() {
            self.resets.incoming.find_nothing_to_do();
        } else {
            let is_accepted = self.events.has_room() && self.close_streams(&used).is_ok();
            self.resets.incoming.accept(is_accepted);
        }
    }

    fn perform_incoming(&mut self, streams: Vec<StreamId>) {
        self.inbound.reset_streams(&streams);
        self.events.push_reset(self.inbound.stats().messages_received, streams);
    }

    fn conclude_request(&mut self, now: Instant, answer: Answer) {
        match answer {
            Answer::Later => {
                let wait = self.outbound.rto();
                self.timers.start(Timer::Reset, now, wait);
            }
            Answer::Done(streams) => {
                self.timers.stop(Timer::Reset);
                streams.iter().for_each(|&stream| self.outbound.reset_stream(stream));
                self.events.push(Event::StreamResetDone(streams));
            }
            Answer::Refused(streams) => {
                self.timers.stop(Timer::Reset);
                self.events.push(Event::StreamResetFailed(streams));
            }
        }
    }
}
