//! The stream: which frame is on its way, which comes next, and when.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_rtp::{MediaClock, Sequence};

use super::frame::Frame;
use super::limits::{LIVE_INTERVAL, MAX_LIVE_INTERVAL};
use crate::pace::{Pacer, Schedule, spread};
use crate::source::Timing;

/// Which frame is sent, and when; pure, time comes in.
#[derive(Debug)]
pub(super) struct Timeline {
    timing: Timing,
    frames_per_s: f64,
    pacer: Pacer,
    clock: MediaClock,
    /// When frames are due, while somebody plays: of sources that are asked.
    schedule: Option<Schedule>,
    due: Option<Instant>,
    /// The frame that comes next, if the source has given it.
    ready: Option<Frame>,
    /// The frame on its way, and the slices of it that are to come, the next one last.
    current: Option<Arc<Frame>>,
    slices: Vec<(Instant, Range<usize>)>,
    /// Sequence number of the frame that comes next.
    pub(super) next: Sequence,
    pub(super) dimensions: Option<(u16, u16)>,
    /// Of live sources: when the last frame came, and the mean time between them.
    last: Option<Instant>,
    interval: Duration,
}

impl Timeline {
    pub(super) fn new(
        timing: Timing,
        frames_per_s: f64,
        packet_bytes: usize,
        clock: MediaClock,
        first: Sequence,
    ) -> Self {
        Self {
            timing,
            frames_per_s,
            pacer: Pacer::new(packet_bytes),
            clock,
            schedule: None,
            due: None,
            ready: None,
            current: None,
            slices: Vec::new(),
            next: first,
            dimensions: None,
            last: None,
            interval: LIVE_INTERVAL,
        }
    }

    /// Frames a second, where they are known.
    pub(super) fn frames_per_s(&self) -> Option<f64> {
        (self.timing == Timing::OnDemand).then_some(self.frames_per_s)
    }

    /// The moment that the next frame is of, as far as it is known.
    pub(super) fn next_moment(&self, now: Instant) -> Instant {
        self.due.unwrap_or(now)
    }

    /// Somebody plays, or nobody does any more.
    pub(super) fn handle_players(&mut self, now: Instant, is_played: bool) {
        if !is_played {
            (self.schedule, self.due) = (None, None);
        } else if self.schedule.is_none() && self.timing == Timing::OnDemand {
            let mut schedule = Schedule::new(now, self.frames_per_s);
            self.due = Some(schedule.next(now));
            self.schedule = Some(schedule);
        }
    }

    /// The source gave a frame. Gives it back if it is of no use, as nobody plays.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame, is_played: bool) -> Option<Frame> {
        self.dimensions = Some(frame.dimensions);
        if self.timing == Timing::Live {
            let gap = self.last.replace(now).map(|last| now.saturating_duration_since(last));
            if let Some(gap) = gap {
                self.interval = (self.interval * 7 + gap.min(MAX_LIVE_INTERVAL)) / 8;
            }
            if !is_played {
                self.next = frame.next_sequence();
                return Some(frame);
            }
            self.due = Some(now);
        }
        self.ready = Some(frame);
        None
    }

    /// The frame that is to begin now. The one before must be over: see [`finish`](Self::finish).
    pub(super) fn begin(&mut self, now: Instant) -> Option<Arc<Frame>> {
        let due = self.due.filter(|due| *due <= now)?;
        let mut frame = self.ready.take()?;
        frame.stamp(self.clock.at(due));
        self.next = frame.next_sequence();
        let interval = match &mut self.schedule {
            Some(schedule) => {
                self.due = Some(schedule.next(now));
                schedule.interval()
            }
            None => {
                self.due = None;
                self.interval
            }
        };
        self.slices.clear();
        self.slices.extend(self.pacer.slices(frame.packets, now, spread(interval)));
        self.slices.reverse();
        let frame = Arc::new(frame);
        self.current = Some(frame.clone());
        Some(frame)
    }

    /// Whether a frame is to begin now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.ready.is_some() && self.due.is_some_and(|due| due <= now)
    }

    /// The frame on its way, and up to which packet it is due.
    pub(super) fn due_packets(&mut self, now: Instant) -> Option<(Arc<Frame>, usize)> {
        while self.slices.pop_if(|(due, _)| *due <= now).is_some() {}
        let frame = self.current.clone()?;
        let packets = self.slices.last().map_or(frame.packets, |(_, slice)| slice.start);
        Some((frame, packets))
    }

    /// Whether all slices of the frame on its way were due.
    pub(super) fn is_whole(&self) -> bool {
        self.slices.is_empty()
    }

    /// The frame on its way is over.
    pub(super) fn finish(&mut self) -> Option<Arc<Frame>> {
        self.slices.clear();
        self.current.take()
    }

    /// When something is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let frame = self.due.filter(|_| self.ready.is_some());
        self.slices.last().map(|(due, _)| *due).into_iter().chain(frame).min()
    }
}

#[cfg(test)]
mod tests {
    use netdyno_mjpeg_core::{JpegHeaders, Packetizer, PacketizerConfig, QuantTables, Sampling};
    use netdyno_rtp::{Packet, Ssrc, Timestamp};

    use super::*;

    fn timeline(timing: Timing, start: Instant) -> (Timeline, Packetizer) {
        let clock = MediaClock::new(start, Timestamp(100), 90_000);
        let packetizer = Packetizer::new(PacketizerConfig::default(), Ssrc(1), Sequence(7)).unwrap();
        (Timeline::new(timing, 25.0, 1400, clock, Sequence(7)), packetizer)
    }

    /// About 74 packets.
    fn frame(packetizer: &mut Packetizer) -> Frame {
        let tables = QuantTables::computed(85).unwrap();
        let mut file = Vec::new();
        JpegHeaders { width: 640, height: 480, sampling: Sampling::Yuv420, tables, restart_interval: 0 }
            .append(&mut file);
        file.extend(vec![0x55; 100_000]);
        file.extend([0xff, 0xd9]);
        Frame::pack(packetizer, &file, Vec::new()).unwrap()
    }

    /// Sequence number and timestamp of the first packet.
    fn first(frame: &Frame) -> (u16, u32) {
        let packet = Packet::parse(frame.side_by_side(0..1).0).unwrap();
        (packet.header.sequence.0, packet.header.timestamp.0)
    }

    #[test]
    fn frames_are_due_at_their_rate_from_when_somebody_plays() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut timeline, mut packetizer) = timeline(Timing::OnDemand, start);
        assert!(timeline.handle_frame(at(0), frame(&mut packetizer), false).is_none());
        assert_eq!((timeline.next_deadline(), timeline.dimensions), (None, Some((640, 480))));
        timeline.handle_players(at(1000), true);
        assert_eq!((timeline.next_moment(at(1000)), timeline.next), (at(1000), Sequence(7)));
        assert!(timeline.is_due(at(1000)));
        let one = timeline.begin(at(1000)).unwrap();
        assert_eq!((first(&one), timeline.next), ((7, 100 + 90_000), Sequence(7).add(one.packets as u16)));
        // In slices over four fifths of 40 ms.
        let mut taken = Vec::new();
        while let Some(due) = timeline.next_deadline() {
            taken.push((due - at(1000), timeline.due_packets(due).unwrap().1));
        }
        assert!(timeline.is_whole() && taken.len() >= 3 && taken.is_sorted());
        assert_eq!(*taken.last().unwrap(), (Duration::from_millis(32), one.packets));
        // The next one is due though it comes late, and is of its time.
        assert!(!timeline.is_due(at(1040)));
        timeline.handle_frame(at(1050), frame(&mut packetizer), true);
        assert!(timeline.is_due(at(1050)) && timeline.finish().is_some());
        let two = timeline.begin(at(1050)).unwrap();
        assert_eq!(first(&two), (7 + one.packets as u16, 100 + 90_000 + 3_600));
        // Nobody plays: nothing is due, whatever there is.
        timeline.finish();
        timeline.handle_frame(at(1060), frame(&mut packetizer), true);
        timeline.handle_players(at(1070), false);
        assert!(!timeline.is_due(at(9000)) && timeline.next_deadline().is_none());
    }

    #[test]
    fn live_frames_go_as_they_come_or_not_at_all() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut timeline, mut packetizer) = timeline(Timing::Live, start);
        let unseen = timeline.handle_frame(at(0), frame(&mut packetizer), false).expect("given back");
        assert_eq!((timeline.next, timeline.frames_per_s()), (unseen.next_sequence(), None));
        timeline.handle_players(at(5), true);
        assert_eq!((timeline.next_deadline(), timeline.next_moment(at(7))), (None, at(7)));
        assert!(timeline.handle_frame(at(20), frame(&mut packetizer), true).is_none());
        assert!(timeline.is_due(at(20)));
        let frame = timeline.begin(at(20)).unwrap();
        assert_eq!(first(&frame), (unseen.next_sequence().0, 100 + 1_800));
        assert!(!timeline.is_due(at(2000)));
    }
}
