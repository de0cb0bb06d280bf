//! Feeds a web page with the frames and counters of a receiver.

use std::time::{Duration, Instant};

use netdyno_mjpeg_core::{CLOCK_RATE_HZ, Frame, FrameInfo};

use super::{Statistics, Web};
use crate::receiver::ReceiverStats;

/// Interval of statistics.
const INTERVAL: Duration = Duration::from_millis(500);

/// Shows the frames of a receiver on a page, and its statistics twice per second. Time is passed in by the caller.
#[derive(Debug)]
pub struct Feed {
    web: Web,
    intervals: Intervals,
    statistics: Statistics,
    due: Instant,
    /// Time, frames and bytes at the last update.
    last: (Instant, u64, u64),
}

impl Feed {
    /// Creates a feed for a page.
    pub fn new(web: Web, now: Instant) -> Self {
        let (intervals, statistics) = (Intervals::default(), Statistics::default());
        Self { web, intervals, statistics, due: now + INTERVAL, last: (now, 0, 0) }
    }

    /// The page.
    pub fn web(&self) -> &Web {
        &self.web
    }

    /// Shows a frame.
    pub fn show(&mut self, frame: &Frame) {
        let info = frame.info();
        self.intervals.add(info);
        self.statistics.size = (info.headers.width, info.headers.height);
        self.web.show(frame.jpeg());
    }

    /// Time of the next update of statistics.
    pub fn next_deadline(&self) -> Instant {
        self.due
    }

    /// Updates the statistics if they are due. `sender` is the CNAME of the sender.
    pub fn update(&mut self, now: Instant, stats: &ReceiverStats, sender: Option<&str>) {
        if now < self.due {
            return;
        }
        let (at, frames, bytes) =
            std::mem::replace(&mut self.last, (now, stats.frames.frames, stats.packet_bytes));
        let seconds = now.duration_since(at).as_secs_f64();
        self.due = now + INTERVAL;
        self.statistics.frames = stats.frames.frames;
        self.statistics.dropped = stats.frames.lost_frames;
        self.statistics.packets = stats.frames.packets;
        self.statistics.lost_packets = stats.frames.missing_packets;
        self.statistics.frames_per_s = (stats.frames.frames - frames) as f64 / seconds;
        self.statistics.bits_per_s = (stats.packet_bytes - bytes) as f64 * 8.0 / seconds;
        self.statistics.jitter_ms = stats.reception.unwrap_or_default().jitter.as_secs_f64() * 1e3;
        self.statistics.interval_jitter_ms = std::mem::take(&mut self.intervals.max_ms);
        self.statistics.sender = sender.unwrap_or_default().to_owned();
        self.web.update(&self.statistics);
    }
}

/// Deviation of frame intervals from the differences of timestamps.
#[derive(Debug, Default)]
struct Intervals {
    last: Option<FrameInfo>,
    max_ms: f64,
}

impl Intervals {
    /// Adds a complete frame. A timestamp that goes backwards, as after a restart of the sender, is ignored.
    fn add(&mut self, info: &FrameInfo) {
        let Some(last) = self.last.replace(*info) else { return };
        let ticks = info.timestamp.0.wrapping_sub(last.timestamp.0);
        if ticks < u32::MAX / 2 {
            let nominal = f64::from(ticks) / f64::from(CLOCK_RATE_HZ);
            let interval = info.last_arrived.saturating_duration_since(last.last_arrived).as_secs_f64();
            self.max_ms = self.max_ms.max((interval - nominal).abs() * 1e3);
        }
    }
}

#[cfg(test)]
mod tests {
    use netdyno_mjpeg_core::{
        Depacketizer, DepacketizerConfig, Event, JpegHeaders, Packetizer, PacketizerConfig,
    };
    use netdyno_mjpeg_core::{Jpeg, QuantTables, Sampling};
    use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};

    use super::*;

    /// Frames with these timestamps and arrival times in milliseconds.
    fn frames(start: Instant, times: &[(u32, u64)]) -> Vec<Frame> {
        let tables = QuantTables::computed(75).unwrap();
        let (mut file, mut datagram, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        JpegHeaders { width: 64, height: 48, sampling: Sampling::Yuv420, tables, restart_interval: 0 }
            .append(&mut file);
        file.extend([1, 2, 3, 0xff, 0xd9]);
        let mut packetizer = Packetizer::new(PacketizerConfig::default(), Ssrc(1), Sequence(1)).unwrap();
        let mut depacketizer = Depacketizer::new(DepacketizerConfig::default()).unwrap();
        for (timestamp, ms) in times {
            let now = start + Duration::from_millis(*ms);
            let jpeg = Jpeg::parse(&file).unwrap();
            let packets = packetizer.packets(&jpeg, Timestamp(*timestamp)).unwrap();
            datagram.clear();
            packets.append(0, &mut datagram);
            depacketizer.handle_packet(now, &Packet::parse(&datagram).unwrap());
            while let Some(event) = depacketizer.poll_event(now) {
                if let Event::Frame(frame) = event {
                    frames.push(frame);
                }
            }
        }
        frames
    }

    #[test]
    fn largest_deviation_is_reported_once() {
        let start = Instant::now();
        let frames = frames(start, &[(u32::MAX - 3000, 0), (5999, 107), (14_999, 200), (32_999, 400)]);
        assert_eq!(frames.len(), 4);
        let mut intervals = Intervals::default();
        for frame in &frames {
            intervals.add(frame.info());
        }
        // Expected and actual intervals: 100 and 107 ms across the wraparound, 100 and 93 ms, 200 and 200 ms.
        assert!((intervals.max_ms - 7.0).abs() < 0.1, "{}", intervals.max_ms);
        let back = Intervals { last: Some(*frames[1].info()), max_ms: 0.0 };
        let mut back = back;
        back.add(frames[0].info());
        assert!(back.max_ms.abs() < f64::EPSILON, "a timestamp that goes backwards is ignored");
    }

    #[test]
    fn statistics_cover_the_time_since_the_last_update() {
        let start = Instant::now();
        let web = Web::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut feed = Feed::new(web, start);
        let mut stats = ReceiverStats::default();
        (stats.frames.frames, stats.packet_bytes) = (10, 1_000_000);
        feed.update(start + INTERVAL / 2, &stats, None);
        assert_eq!(feed.statistics, Statistics::default(), "not due yet");
        feed.update(start + INTERVAL, &stats, Some("me"));
        assert_eq!((feed.statistics.frames_per_s, feed.statistics.bits_per_s), (20.0, 16e6));
        assert_eq!(feed.next_deadline(), start + 2 * INTERVAL);
        (stats.frames.frames, stats.packet_bytes) = (15, 1_500_000);
        for frame in frames(start, &[(0, 0), (9000, 103)]) {
            feed.show(&frame);
        }
        feed.update(start + 3 * INTERVAL, &stats, Some("me"));
        let statistics = &feed.statistics;
        assert_eq!((statistics.frames_per_s, statistics.bits_per_s), (5.0, 4e6));
        assert!((statistics.interval_jitter_ms - 3.0).abs() < 0.1);
        assert_eq!((statistics.size, &statistics.sender[..]), ((64, 48), "me"));
    }
}
