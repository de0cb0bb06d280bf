//! Which losses say that the path is full.
//!
//! Radio, and busy machines, lose packets now and then however slowly one sends. By RFC 9438 each such loss takes 30 %
//! of the window; over 100 ms, 1 % of loss leaves 1.3 Mbit/s of any path. A path that is full says so in one of two other
//! ways: its queue grows, which the round trip shows, or, if it has no queue, it loses all that is too much. So a loss
//! is tolerated while the round trip shows no queue and no more is lost than a small share of what arrives. 2 % is what
//! BBR allows (`BBR.LossThresh`, draft-ietf-ccwg-bbr).
//!
//! The share is kept by a bucket, as rates are policed: what arrives fills it, what is lost empties it. It holds a few
//! packets, so that the overflow of a queue is beyond it at once.

use std::time::Duration;

/// Packets that the bucket holds. With 2 % tolerated and 1 % lost, chance alone empties it once in some million packets.
const CAPACITY_PACKETS: u64 = 10;
/// The round trip shows a queue when it has grown by a sixteenth, half of what ends slow start (RFC 9406 section 4.3): where
/// queues are short, standard flows would give way to one that sees them late. Within ...
const QUEUE_DIVISOR: u32 = 16;
/// ... what is noise ...
const QUEUE_MIN: Duration = Duration::from_millis(2);
/// ... and what is a queue on any path.
const QUEUE_MAX: Duration = Duration::from_millis(8);

/// The bucket.
#[derive(Debug)]
pub(super) struct Tolerance {
    /// Hundredths of a byte that each byte that arrives is worth.
    percent: u64,
    /// Hundredths of a byte.
    level: u64,
}

impl Tolerance {
    /// A full bucket; with 0 percent no loss is tolerated.
    pub(super) fn new(percent: u8, packet_bytes: usize) -> Self {
        let percent = percent.into();
        Self { percent, level: if percent == 0 { 0 } else { capacity(packet_bytes) } }
    }

    /// So many bytes have arrived.
    #[inline]
    pub(super) fn on_delivery(&mut self, bytes: usize, packet_bytes: usize) {
        self.level = (self.level + bytes as u64 * self.percent).min(capacity(packet_bytes));
    }

    /// So many bytes are lost. Gives whether that is tolerated; `queue` says whether the path has one.
    pub(super) fn on_loss(&mut self, bytes: usize, queue: bool) -> bool {
        let left = self.level.checked_sub(bytes as u64 * 100);
        self.level = left.unwrap_or(0);
        left.is_some() && !queue
    }
}

fn capacity(packet_bytes: usize) -> u64 {
    CAPACITY_PACKETS * packet_bytes as u64 * 100
}

/// Whether a round trip of `smoothed` shows a queue on a path whose shortest was `lowest`.
pub(super) fn shows_queue(smoothed: Duration, lowest: Duration) -> bool {
    smoothed > lowest.saturating_add((lowest / QUEUE_DIVISOR).clamp(QUEUE_MIN, QUEUE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1000;

    /// Of `packets` packets, each `nth` is lost. Gives how many of these losses are not tolerated.
    fn refused(percent: u8, packets: usize, nth: usize) -> usize {
        let mut tolerance = Tolerance::new(percent, PACKET);
        (1..=packets)
            .filter(|packet| {
                if packet % nth == 0 {
                    return !tolerance.on_loss(PACKET, false);
                }
                tolerance.on_delivery(PACKET, PACKET);
                false
            })
            .count()
    }

    #[test]
    fn a_share_is_tolerated() {
        // 2 % and less for ever; 4 % for as long as the bucket lasts.
        for (percent, nth, expected) in
            [(2, 100, 0..=0), (2, 51, 0..=0), (2, 25, 370..=390), (0, 100, 100..=100), (1, 100, 0..=5)]
        {
            let packets = if nth == 25 { 10_000 } else { 100 * nth };
            let refused = refused(percent, packets, nth);
            assert!(expected.contains(&refused), "{percent} %, each {nth}th: {refused}");
        }
    }

    #[test]
    fn a_burst_is_not() {
        let mut tolerance = Tolerance::new(2, PACKET);
        (0..100_000).for_each(|_| tolerance.on_delivery(PACKET, PACKET));
        assert!((0..10).all(|_| tolerance.on_loss(PACKET, false)));
        assert!(!tolerance.on_loss(PACKET, false));
        assert!(!tolerance.on_loss(PACKET, false));
    }

    #[test]
    fn a_queue_explains_every_loss() {
        assert!(!Tolerance::new(2, PACKET).on_loss(1, true));
        let ms = Duration::from_millis;
        for (smoothed, lowest, expected) in [
            (1, 1, false),
            (3, 1, false),
            (4, 1, true),
            (106, 100, false),
            (107, 100, true),
            (409, 400, true),
        ] {
            assert_eq!(shows_queue(ms(smoothed), ms(lowest)), expected, "{smoothed} ms over {lowest} ms");
        }
        assert!(!shows_queue(Duration::ZERO, Duration::MAX));
    }
}
