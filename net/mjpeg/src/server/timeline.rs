//! The schedule of the stream: the current frame, the next one, and their times.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_rtp::{MediaClock, Sequence};

use super::frame::Frame;
use super::limits::{LIVE_INTERVAL, MAX_LIVE_INTERVAL};
use crate::pace::{Pacer, Schedule, spread};
use crate::source::Timing;

/// The schedule of frames and slices, without I/O and clock.
#[derive(Debug)]
pub(super) struct Timeline {
    timing: Timing,
    frames_per_s: f64,
    pacer: Pacer,
    clock: MediaClock,
    /// Schedule of an on-demand source while clients play.
    schedule: Option<Schedule>,
    due: Option<Instant>,
    /// The next frame, if the source has provided it.
    ready: Option<Frame>,
    /// The current frame and its remaining slices in reverse order.
    current: Option<Arc<Frame>>,
    slices: Vec<(Instant, Range<usize>)>,
    /// Sequence number of the next frame.
    pub(super) next_sequence: Sequence,
    pub(super) dimensions: Option<(u16, u16)>,
    /// Arrival of the last frame of a live source.
    last_arrival: Option<Instant>,
    /// Mean frame interval of a live source.
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
            next_sequence: first,
            dimensions: None,
            last_arrival: None,
            interval: LIVE_INTERVAL,
        }
    }

    /// Frames per second; `None` for a live source.
    pub(super) fn frames_per_s(&self) -> Option<f64> {
        (self.timing == Timing::OnDemand).then_some(self.frames_per_s)
    }

    /// The time that determines the next frame's timestamp.
    pub(super) fn next_frame_time(&self, now: Instant) -> Instant {
        self.due.unwrap_or(now)
    }

    /// Handles a change of whether any client plays.
    pub(super) fn handle_players(&mut self, now: Instant, has_players: bool) {
        if !has_players {
            (self.schedule, self.due) = (None, None);
        } else if self.schedule.is_none() && self.timing == Timing::OnDemand {
            let mut schedule = Schedule::new(now, self.frames_per_s);
            self.due = Some(schedule.next(now));
            self.schedule = Some(schedule);
        }
    }

    /// Handles a frame from the source. Returns it if it is unused because no client plays a live source.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: Frame, has_players: bool) -> Option<Frame> {
        self.dimensions = Some(frame.dimensions);
        if self.timing == Timing::Live {
            let gap = self.last_arrival.replace(now).map(|last| now.saturating_duration_since(last));
            if let Some(gap) = gap {
                self.interval = (self.interval * 7 + gap.min(MAX_LIVE_INTERVAL)) / 8;
            }
            if !has_players {
                self.next_sequence = frame.next_sequence();
                return Some(frame);
            }
            self.due = Some(now);
        }
        self.ready = Some(frame);
        None
    }

    /// Starts the frame that is due. The previous one must be [finished](Self::finish).
    pub(super) fn start(&mut self, now: Instant) -> Option<Arc<Frame>> {
        let due = self.due.filter(|due| *due <= now)?;
        let mut frame = self.ready.take()?;
        frame.set_timestamp(self.clock.at(due));
        self.next_sequence = frame.next_sequence();
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

    /// Whether a frame is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.ready.is_some() && self.due.is_some_and(|due| due <= now)
    }

    /// The current frame and the number of its packets that are due.
    pub(super) fn due_packets(&mut self, now: Instant) -> Option<(Arc<Frame>, usize)> {
        while self.slices.pop_if(|(due, _)| *due <= now).is_some() {}
        let frame = self.current.clone()?;
        let packets = self.slices.last().map_or(frame.packets, |(_, slice)| slice.start);
        Some((frame, packets))
    }

    /// Whether all slices of the current frame have been due.
    pub(super) fn is_complete(&self) -> bool {
        self.slices.is_empty()
    }

    /// Finishes the current frame.
    pub(super) fn finish(&mut self) -> Option<Arc<Frame>> {
        self.slices.clear();
        self.current.take()
    }

    /// Time of the next slice or frame.
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

    /// A frame of about 74 packets.
    fn frame(packetizer: &mut Packetizer) -> Frame {
        let tables = QuantTables::computed(85).unwrap();
        let mut file = Vec::new();
        JpegHeaders { width: 640, height: 480, sampling: Sampling::Yuv420, tables, restart_interval: 0 }
            .append(&mut file);
        file.extend(vec![0x55; 100_000]);
        file.extend([0xff, 0xd9]);
        Frame::packetize(packetizer, &file, Vec::new()).unwrap()
    }

    /// Sequence number and timestamp of the first packet.
    fn first_packet(frame: &Frame) -> (u16, u32) {
        let packet = Packet::parse(frame.segments(0..1).0).unwrap();
        (packet.header.sequence.0, packet.header.timestamp.0)
    }

    #[test]
    fn on_demand_frames_are_due_at_their_rate_while_clients_play() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut timeline, mut packetizer) = timeline(Timing::OnDemand, start);
        assert!(timeline.handle_frame(at(0), frame(&mut packetizer), false).is_none());
        assert_eq!((timeline.next_deadline(), timeline.dimensions), (None, Some((640, 480))));
        timeline.handle_players(at(1000), true);
        assert_eq!((timeline.next_frame_time(at(1000)), timeline.next_sequence), (at(1000), Sequence(7)));
        assert!(timeline.is_due(at(1000)));
        let one = timeline.start(at(1000)).unwrap();
        assert_eq!(
            (first_packet(&one), timeline.next_sequence),
            ((7, 100 + 90_000), Sequence(7).add(one.packets as u16))
        );
        // The slices span four fifths of 40 ms.
        let mut slices = Vec::new();
        while let Some(due) = timeline.next_deadline() {
            slices.push((due - at(1000), timeline.due_packets(due).unwrap().1));
        }
        assert!(timeline.is_complete() && slices.len() >= 2 && slices.is_sorted());
        assert_eq!(*slices.last().unwrap(), (Duration::from_millis(32), one.packets));
        // A late frame is due at once and keeps its scheduled timestamp.
        assert!(!timeline.is_due(at(1040)));
        timeline.handle_frame(at(1050), frame(&mut packetizer), true);
        assert!(timeline.is_due(at(1050)) && timeline.finish().is_some());
        let two = timeline.start(at(1050)).unwrap();
        assert_eq!(first_packet(&two), (7 + one.packets as u16, 100 + 90_000 + 3_600));
        // Without clients, nothing is due.
        timeline.finish();
        timeline.handle_frame(at(1060), frame(&mut packetizer), true);
        timeline.handle_players(at(1070), false);
        assert!(!timeline.is_due(at(9000)) && timeline.next_deadline().is_none());
    }

    #[test]
    fn live_frames_are_sent_on_arrival_or_dropped() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut timeline, mut packetizer) = timeline(Timing::Live, start);
        let unused = timeline.handle_frame(at(0), frame(&mut packetizer), false).expect("returned");
        assert_eq!((timeline.next_sequence, timeline.frames_per_s()), (unused.next_sequence(), None));
        timeline.handle_players(at(5), true);
        assert_eq!((timeline.next_deadline(), timeline.next_frame_time(at(7))), (None, at(7)));
        assert!(timeline.handle_frame(at(20), frame(&mut packetizer), true).is_none());
        assert!(timeline.is_due(at(20)));
        let frame = timeline.start(at(20)).unwrap();
        assert_eq!(first_packet(&frame), (unused.next_sequence().0, 100 + 1_800));
        assert!(!timeline.is_due(at(2000)));
    }
}
