//! Path supervision: HEARTBEATs when idle (RFC 9260 section 8.3), the round trips that they measure, path MTU
//! probes, and when the peer counts as unreachable (section 8.1).

use std::time::{Duration, Instant};

use rand::Rng;

use super::Association;
use super::discovery::Verdict;
use super::timer::Timer;
use crate::error::AssociationError;
use crate::wire::packet::CHUNK_HEADER_BYTES;
use crate::wire::{HEADER_BYTES, Heartbeat, PacketWriter, Pad};

/// Length of our HEARTBEATs: the info is a nonce.
const HEARTBEAT_BYTES: usize = Heartbeat::OVERHEAD + size_of::<u64>();

/// Most doublings of the wait for a HEARTBEAT ACK.
const DOUBLINGS_MAX: u32 = 10;

/// State of our HEARTBEATs.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// A HEARTBEAT is to be sent.
    is_due: bool,
    /// Nonce and time of the HEARTBEAT in flight, probes excluded.
    sent: Option<(u64, Instant)>,
    /// When the path MTU probe in flight was sent.
    probe_sent_at: Option<Instant>,
    /// Consecutive HEARTBEATs without an answer.
    errors: u32,
    /// When data was last sent, or something arrived that proves that the path works.
    active_at: Option<Instant>,
}

impl Path {
    /// Whether a HEARTBEAT is to be written.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// The path is in use: no HEARTBEAT is needed for now.
    #[inline]
    pub(super) fn note_activity(&mut self, now: Instant) {
        self.active_at = Some(now);
    }

    /// The peer has acknowledged data.
    #[inline]
    pub(super) fn note_answer(&mut self) {
        self.errors = 0;
    }
}

impl Association {
    /// The association is established or has restarted.
    pub(super) fn start_path(&mut self, now: Instant) {
        // Without a round trip from the set-up, measure one at once: the receive window and timers depend
        // on it.
        self.path = Path { is_due: self.outbound.stats().smoothed_rtt.is_none(), ..Path::default() };
        self.discovery.start();
        self.start_heartbeat_timer(now, Duration::ZERO);
    }

    /// The path was lost and is available again, or has changed: checks at once whether the peer answers, its
    /// round trip, and the packet length.
    pub(super) fn restart_path(&mut self, now: Instant) {
        let verdict = self.discovery.handle_silence(u32::MAX);
        if self.apply(verdict) {
            self.timers.stop(Timer::Probe);
        }
        self.path = Path { is_due: true, ..Path::default() };
        self.timers.stop(Timer::HeartbeatAnswer);
        self.start_heartbeat_timer(now, Duration::ZERO);
    }

    /// Handles a HEARTBEAT ACK. One with an unknown nonce is ignored.
    pub(super) fn handle_heartbeat_ack(&mut self, now: Instant, heartbeat: &Heartbeat<'_>) {
        let Ok(info) = <[u8; 8]>::try_from(heartbeat.info) else { return };
        let nonce = u64::from_be_bytes(info);
        let sent_at = if self.discovery.is_probe(nonce) {
            let verdict = self.discovery.handle_answer();
            self.apply(verdict);
            match self.discovery.pause() {
                Some(pause) => self.timers.start(Timer::Probe, now, pause),
                None => self.timers.stop(Timer::Probe),
            }
            self.path.probe_sent_at.take()
        } else {
            let sent = self.path.sent.take_if(|(sent_nonce, _)| *sent_nonce == nonce);
            sent.map(|(_, sent_at)| sent_at)
        };
        if let Some(sent_at) = sent_at {
            self.path.errors = 0;
            if self.path.sent.is_none() {
                self.timers.stop(Timer::HeartbeatAnswer);
            }
            self.outbound.handle_rtt(now.saturating_duration_since(sent_at));
            self.share_rtt();
        }
    }

    /// Handles a possible idle period.
    pub(super) fn handle_heartbeat_timeout(&mut self, now: Instant) {
        if !self.phase.is_set_up() {
            return;
        }
        let interval = self.config.heartbeat_interval;
        let idle = self.path.active_at.map_or(interval, |active| now.saturating_duration_since(active));
        if idle < interval {
            self.start_heartbeat_timer(now, idle);
        } else {
            self.path.is_due = true;
            self.start_heartbeat_timer(now, Duration::ZERO);
        }
    }

    /// A HEARTBEAT was not answered.
    pub(super) fn handle_heartbeat_loss(&mut self) {
        self.path.sent = None;
        self.path.errors += 1;
        // The next one follows at once but waits twice as long for its answer: an idle peer is then
        // declared unreachable about as fast as one that does not acknowledge data.
        self.path.is_due = true;
        self.check_path();
    }

    /// The path MTU discovery timer has expired.
    pub(super) fn handle_probe_timeout(&mut self, now: Instant) {
        self.discovery.handle_timeout(self.outbound.timeouts_in_a_row() > 0);
        if let Some(pause) = self.discovery.pause() {
            self.timers.start(Timer::Probe, now, pause);
        }
    }

    /// Acts on the timeouts that the sending half has counted.
    pub(super) fn check_path(&mut self) {
        let timeouts = self.outbound.timeouts_in_a_row();
        let verdict = self.discovery.handle_silence(self.outbound.stalled_timeouts());
        if self.apply(verdict) {
            self.timers.stop(Timer::Probe);
        }
        // During one silence both DATA and HEARTBEATs go unanswered: adding them up would halve the time
        // until the peer counts as unreachable.
        if self.phase.is_set_up() && timeouts.max(self.path.errors) > self.config.limits.max_retransmits {
            let what = if timeouts > 0 { "DATA" } else { "HEARTBEAT" };
            self.fail(AssociationError::TimedOut(what));
        }
    }

    /// Writes the pending HEARTBEAT.
    pub(super) fn write_heartbeat(&mut self, now: Instant, packet: &mut PacketWriter<'_>) {
        let nonce = self.rng.next_u64();
        if (Heartbeat { info: &nonce.to_be_bytes() }).write(packet) {
            self.path.is_due = false;
            self.path.sent = Some((nonce, now));
            let rto = self.outbound.rto();
            let wait = rto.saturating_mul(1 << self.path.errors.min(DOUBLINGS_MAX));
            self.timers.start(Timer::HeartbeatAnswer, now, wait.min(self.config.rto_max.max(rto)));
        }
    }

    /// Writes a path MTU probe as a packet, if one is due and `out` is large enough.
    pub(super) fn write_probe(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let bytes = self.discovery.wanted_probe().filter(|bytes| *bytes <= out.len())?;
        let nonce = self.rng.next_u64();
        let mut packet = PacketWriter::new(&mut out[..bytes], self.header());
        let pad_bytes = bytes.checked_sub(HEADER_BYTES + HEARTBEAT_BYTES)?;
        let is_written = (Heartbeat { info: &nonce.to_be_bytes() }).write(&mut packet)
            && (pad_bytes < CHUNK_HEADER_BYTES || Pad { length: pad_bytes }.write(&mut packet));
        if !is_written {
            return None;
        }
        let wait = self.discovery.probe_sent(nonce, self.outbound.rto());
        self.path.probe_sent_at = Some(now);
        self.timers.start(Timer::Probe, now, wait);
        Some(packet.finish(self.terms.zero_checksum))
    }

    /// Schedules the next HEARTBEAT: the interval minus the idle time so far, plus one retransmission timeout
    /// with 50 % jitter (RFC 9260 section 8.3).
    fn start_heartbeat_timer(&mut self, now: Instant, idle: Duration) {
        let rto = self.outbound.rto();
        let jitter = rto.saturating_mul(self.rng.next_u32() >> 22) / 1024;
        let wait = self
            .config
            .heartbeat_interval
            .saturating_sub(idle)
            .saturating_add(rto / 2)
            .saturating_add(jitter);
        self.timers.start(Timer::Heartbeat, now, wait);
    }

    /// Returns whether something changed.
    fn apply(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Unchanged => false,
            Verdict::PacketBytes(bytes) => {
                self.outbound.set_packet_bytes(bytes);
                true
            }
        }
    }
}
