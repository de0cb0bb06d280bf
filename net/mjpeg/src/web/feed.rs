//! From what a receiver has to what the page shows.

use std::time::{Duration, Instant};

use netdyno_mjpeg_core::{CLOCK_RATE_HZ, Frame, FrameInfo};

use super::{Statistics, Web};
use crate::receiver::ReceiverStats;

/// How often statistics are told.
const EVERY: Duration = Duration::from_millis(500);

/// Shows on a page what a receiver gives out, and twice a second how it comes. Has no clock: time is told to it.
#[derive(Debug)]
pub struct Feed {
    web: Web,
    intervals: Intervals,
    statistics: Statistics,
    due: Instant,
    /// When the last were told, and with how many frames and bytes.
    told: (Instant, u64, u64),
}

impl Feed {
    /// Feeds this page, from now on.
    pub fn new(web: Web, now: Instant) -> Self {
        let (intervals, statistics) = (Intervals::default(), Statistics::default());
        Self { web, intervals, statistics, due: now + EVERY, told: (now, 0, 0) }
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

    /// When statistics are to be told next.
    pub fn next_deadline(&self) -> Instant {
        self.due
    }

    /// Tells how it comes, if it is time to. `sender`: what the sender calls itself.
    pub fn tell(&mut self, now: Instant, stats: &ReceiverStats, sender: Option<&str>) {
        if now < self.due {
            return;
        }
        let (at, frames, bytes) =
            std::mem::replace(&mut self.told, (now, stats.frames.frames, stats.packet_bytes));
        let seconds = now.duration_since(at).as_secs_f64();
        self.due = now + EVERY;
        self.statistics.frames = stats.frames.frames;
        self.statistics.dropped = stats.frames.lost_frames;
        self.statistics.packets = stats.frames.packets;
        self.statistics.lost_packets = stats.frames.missing_packets;
        self.statistics.frames_per_s = (stats.frames.frames - frames) as f64 / seconds;
        self.statistics.bits_per_s = (stats.packet_bytes - bytes) as f64 * 8.0 / seconds;
        self.statistics.jitter_ms = stats.reception.unwrap_or_default().jitter.as_secs_f64() * 1e3;
        self.statistics.interval_jitter_ms = std::mem::take(&mut self.intervals.most_ms);
        self.statistics.sender = sender.unwrap_or_default().to_owned();
        self.web.tell(&self.statistics);
    }
}

/// How far intervals between frames are from what their timestamps say.
#[derive(Debug, Default)]
struct Intervals {
    last: Option<FrameInfo>,
    most_ms: f64,
}

impl Intervals {
    /// A frame that is whole. Where its timestamp is none of a next frame, as of a sender that began anew, nothing is known.
    fn add(&mut self, info: &FrameInfo) {
        let Some(last) = self.last.replace(*info) else { return };
        let ticks = info.timestamp.0.wrapping_sub(last.timestamp.0);
        if ticks < u32::MAX / 2 {
            let nominal = f64::from(ticks) / f64::from(CLOCK_RATE_HZ);
            let interval = info.last_arrived.saturating_duration_since(last.last_arrived).as_secs_f64();
            self.most_ms = self.most_ms.max((interval - nominal).abs() * 1e3);
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

    /// Frames with these timestamps, each whole so many ms after the first.
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
    fn the_worst_interval_is_told_once() {
        let start = Instant::now();
        let frames = frames(start, &[(u32::MAX - 3000, 0), (5999, 107), (14_999, 200), (32_999, 400)]);
        assert_eq!(frames.len(), 4);
        let mut intervals = Intervals::default();
        for frame in &frames {
            intervals.add(frame.info());
        }
        // 100 ms by the timestamps, over the wrap, 107 by the clock; then 93, and 200 both ways.
        assert!((intervals.most_ms - 7.0).abs() < 0.1, "{}", intervals.most_ms);
        let back = Intervals { last: Some(*frames[1].info()), most_ms: 0.0 };
        let mut back = back;
        back.add(frames[0].info());
        assert!(back.most_ms.abs() < f64::EPSILON, "a timestamp that goes back says nothing");
    }

    #[test]
    fn what_is_told_is_of_the_time_since() {
        let start = Instant::now();
        let web = Web::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut feed = Feed::new(web, start);
        let mut stats = ReceiverStats::default();
        (stats.frames.frames, stats.packet_bytes) = (10, 1_000_000);
        feed.tell(start + EVERY / 2, &stats, None);
        assert_eq!(feed.statistics, Statistics::default(), "it is not yet time");
        feed.tell(start + EVERY, &stats, Some("me"));
        assert_eq!((feed.statistics.frames_per_s, feed.statistics.bits_per_s), (20.0, 16e6));
        assert_eq!(feed.next_deadline(), start + 2 * EVERY);
        (stats.frames.frames, stats.packet_bytes) = (15, 1_500_000);
        for frame in frames(start, &[(0, 0), (9000, 103)]) {
            feed.show(&frame);
        }
        feed.tell(start + 3 * EVERY, &stats, Some("me"));
        let statistics = &feed.statistics;
        assert_eq!((statistics.frames_per_s, statistics.bits_per_s), (5.0, 4e6));
        assert!((statistics.interval_jitter_ms - 3.0).abs() < 0.1);
        assert_eq!((statistics.size, &statistics.sender[..]), ((64, 48), "me"));
    }
}
