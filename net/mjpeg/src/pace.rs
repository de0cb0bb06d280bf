//! The schedule of frames and of the slices of a frame, without I/O and clock.
//!
//! A frame of 200 KB has about 150 packets. Sent at once, they overflow the default receive buffer of Linux (212,992 bytes of
//! memory, of which a packet of 1,400 bytes takes 2,304). They are therefore sent in slices of at most half that buffer, spread
//! evenly over the frame interval. A slice is one system call. Smaller slices would fill the buffer equally, because the mean rate is
//! the same, and each slice costs a wake-up.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::limits::MAX_SPREAD;

/// The default receive buffer of Linux (`net.core.rmem_default`).
const RECEIVE_BUFFER_BYTES: usize = 212_992;
/// Divisor of the buffer for a slice: a receiver can be late by one slice without loss.
const BUFFER_DIVISOR: usize = 2;
/// Minimum memory charged for a packet.
const PACKET_MEMORY_BYTES: usize = 2_304;
/// Memory charged in addition to the power of two.
const PACKET_OVERHEAD_BYTES: usize = 256;
/// Headers and headroom that the kernel adds before it rounds up to a power of two.
const PACKET_HEADROOM_BYTES: usize = 512;
/// Part of the frame interval over which packets are spread. The next picture is read in the rest.
const SPREAD: f64 = 0.8;

/// Memory that the kernel charges to a receive buffer for a packet.
fn memory_bytes(packet_bytes: usize) -> usize {
    let rounded = (packet_bytes + PACKET_HEADROOM_BYTES).next_power_of_two();
    (rounded + PACKET_OVERHEAD_BYTES).max(PACKET_MEMORY_BYTES)
}

/// Divides frames into slices.
#[derive(Debug, Clone)]
pub struct Pacer {
    slice_packets: usize,
    /// Whether the previous frame had more than one slice.
    was_divided: bool,
}

impl Pacer {
    /// Creates a pacer for packets of at most `packet_bytes` with the RTP header.
    pub fn new(packet_bytes: usize) -> Self {
        let slice_packets = RECEIVE_BUFFER_BYTES / BUFFER_DIVISOR / memory_bytes(packet_bytes);
        Self { slice_packets: slice_packets.max(1), was_divided: false }
    }

    /// Divides a frame that starts at `from` into slices with their due times. The first slice is due at `from`, the last at the end of
    /// `spread` for any frame length, so that frames end at a steady rate. With a `spread` of 0, there is one slice.
    pub fn slices(
        &mut self,
        packets: usize,
        from: Instant,
        spread: Duration,
    ) -> impl ExactSizeIterator<Item = (Instant, Range<usize>)> + use<> {
        let count = if spread.is_zero() { 1 } else { self.count(packets) };
        (0..count).map(move |index| {
            let due = from + spread * index as u32 / (count - 1).max(1) as u32;
            (due, packets * index / count..packets * (index + 1) / count)
        })
    }

    /// Number of slices. If frame lengths vary around the length of a slice, all frames are divided, so that their ends do not jitter.
    fn count(&mut self, packets: usize) -> usize {
        let needed = packets.div_ceil(self.slice_packets);
        self.was_divided = needed > 1 || (self.was_divided && packets > self.slice_packets.div_ceil(2));
        needed.max(if self.was_divided { 2 } else { 1 })
    }
}

/// The time over which the packets of a frame are spread for a frame interval.
pub fn spread(interval: Duration) -> Duration {
    interval.mul_f64(SPREAD).min(MAX_SPREAD)
}

/// A schedule of frames at a steady rate.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: Instant,
    interval_ns: f64,
    /// Number of the next frame since the start.
    number: u64,
}

impl Schedule {
    /// Creates a schedule whose first frame is due at `start`. `fps` must be above 0.
    pub fn new(start: Instant, fps: f64) -> Self {
        Self { start, interval_ns: 1e9 / fps, number: 0 }
    }

    /// The frame interval.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval_ns as u64)
    }

    /// The time at which the next frame is due. If that was more than an interval ago, frames are skipped and the schedule restarts at
    /// `now`.
    pub fn next(&mut self, now: Instant) -> Instant {
        let mut due = self.due();
        if now > due + self.interval() {
            (self.start, self.number) = (now, 0);
            due = now;
        }
        self.number += 1;
        due
    }

    /// Rounded up, so that the RTP timestamp is not one tick too low.
    fn due(&self) -> Instant {
        self.start + Duration::from_nanos((self.number as f64 * self.interval_ns).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn slices(pacer: &mut Pacer, packets: usize, spread: Duration) -> Vec<(Duration, usize)> {
        let now = Instant::now();
        let mut next = 0;
        let mut look = |(due, range): (Instant, Range<usize>)| {
            assert_eq!(range.start, next, "no packet twice, none left out");
            next = range.end;
            (due - now, range.len())
        };
        let slices: Vec<_> = pacer.slices(packets, now, spread).map(&mut look).collect();
        assert_eq!(next, packets);
        slices
    }

    #[test]
    fn slices_are_even_and_end_when_the_spread_ends() {
        for (packet_bytes, packets, expected, most) in [
            (1400, 145, 4, 46),
            (1400, 1, 1, 1),
            (1400, 46, 1, 46),
            (9000, 23, 4, 6),
            (600, 340, 8, 46),
            (65_507, 4, 4, 1),
        ] {
            let slices = slices(&mut Pacer::new(packet_bytes), packets, SECOND);
            assert_eq!(slices.len(), expected, "{packets} of {packet_bytes}");
            let lengths = slices.iter().map(|(_, length)| *length);
            assert!(
                lengths.clone().max().unwrap() <= most && lengths.min().unwrap() + 1 >= packets / expected
            );
            assert_eq!(slices[0].0, Duration::ZERO);
            assert!(expected == 1 || slices[expected - 1].0 == SECOND);
        }
        assert_eq!(slices(&mut Pacer::new(1400), 500, Duration::ZERO), [(Duration::ZERO, 500)]);
    }

    #[test]
    fn two_slices_fit_in_the_default_buffer() {
        for packet_bytes in [300, 600, 1400, 1472, 4000, 9000, 30_000] {
            let slice = Pacer::new(packet_bytes).slice_packets;
            assert!(2 * slice * memory_bytes(packet_bytes) <= RECEIVE_BUFFER_BYTES, "{packet_bytes}");
        }
    }

    #[test]
    fn frames_near_the_length_of_a_slice_end_at_the_same_time() {
        let mut pacer = Pacer::new(1400);
        for (packets, expected) in [(46, 1), (47, 2), (46, 2), (24, 2), (23, 1), (46, 1)] {
            assert_eq!(slices(&mut pacer, packets, SECOND).len(), expected, "{packets}");
        }
    }

    #[test]
    fn frames_are_due_at_a_steady_rate_without_drift() {
        let start = Instant::now();
        for (fps, interval_ns) in
            [(30.0, 33_333_333), (29.97, 33_366_700), (1000.0, 1_000_000), (0.5, 2_000_000_000)]
        {
            let mut schedule = Schedule::new(start, fps);
            assert_eq!(schedule.interval().as_nanos(), interval_ns);
            let dues: Vec<_> = (0..90_001).map(|_| schedule.next(start)).collect();
            let exact = Duration::from_secs_f64(90_000.0 / fps);
            assert!((dues[90_000] - start).abs_diff(exact) < Duration::from_micros(1), "{fps}");
        }
        // Ticks at 90 kHz.
        let mut schedule = Schedule::new(start, 30.0);
        let ticks = (0..4).map(|_| (schedule.next(start) - start).as_nanos() * 90_000 / 1_000_000_000);
        assert_eq!(ticks.collect::<Vec<_>>(), [0, 3000, 6000, 9000]);
    }

    #[test]
    fn missed_frames_are_skipped() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 10.0);
        assert_eq!(schedule.next(start), start);
        // A short delay is caught up.
        assert_eq!(schedule.next(start + SECOND * 15 / 100), start + SECOND / 10);
        let late = start + SECOND * 5;
        assert_eq!(schedule.next(late), late);
        assert_eq!(schedule.next(late), late + SECOND / 10);
    }
}
