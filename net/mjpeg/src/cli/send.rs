//! `send`: sends pictures to a unicast or multicast address.

use std::time::{Duration, Instant};

use netdyno_mjpeg::core::{CLOCK_RATE_HZ, Description, InexactDimensions};
use netdyno_mjpeg::source::SourceError;
use netdyno_mjpeg::{PeerReport, Sender, SenderConfig, Sent, Step, Stream};
use serde_json::{Value, json};

use super::args::SendArgs;
use super::status::{Rate, Status, bits};
use super::{Failure, StopFlag, interface};

/// Number of skipped pictures that are reported individually.
const MAX_REMARKS: u64 = 10;
/// Number of consecutive source errors that end the program.
const MAX_ERRORS: u32 = 100;

pub(crate) fn run(args: &SendArgs, json: bool) -> Result<(), Failure> {
    // Handle signals before starting the source, so that its child processes are ended.
    let stop = StopFlag::on_signals()?;
    let source = args.source.open(args.fps)?;
    let to = args.address().map_err(Failure::Message)?;
    let mut config = SenderConfig::default();
    config.packetizer.max_packet_bytes = args.packet_bytes;
    config.multicast_hops = args.ttl;
    config.rtcp_mux = args.rtcp_mux;
    config.interface = interface(args.interface.as_deref())?;
    let sender = Sender::open(to, &config)?;
    let fps = (args.fps > 0.0).then_some(args.fps);
    let mut description = Description::new(to);
    (description.framerate, description.ttl, description.rtcp_mux) = (fps, Some(args.ttl), args.rtcp_mux);
    let sending = Send { args, stop, description, skipped: 0 };
    sending.run(Stream::new(sender, source, fps), Status::new(json, true))
}

struct Send<'a> {
    args: &'a SendArgs,
    stop: StopFlag,
    description: Description,
    skipped: u64,
}

impl Send<'_> {
    fn run(mut self, mut stream: Stream, mut status: Status) -> Result<(), Failure> {
        let (mut sent, mut errors) = (0, 0);
        while !self.stop.is_set() && self.args.frames.is_none_or(|frames| sent < frames) {
            match stream.step() {
                Ok(Step::Sent(picture)) => {
                    (sent, errors) = (sent + 1, 0);
                    self.describe(&stream, &picture, &status)?;
                }
                Ok(Step::Skipped(error)) => self.skip(&status, &error.to_string()),
                Ok(Step::Pending) => {}
                Ok(Step::End) => break,
                Ok(_) => {}
                Err(error) => {
                    errors += 1;
                    self.handle(error, errors, &status)?;
                }
            }
            if status.is_due(Instant::now()) {
                self.show(&stream, &mut status, false)?;
            }
        }
        self.show(&stream, &mut status, true)?;
        if sent == 0 && !self.stop.is_set() {
            let cause = if self.skipped > 0 {
                "none of the pictures can be sent"
            } else {
                "the source has no pictures"
            };
            return Err(Failure::Message(format!("nothing was sent: {cause}")));
        }
        Ok(())
    }

    /// Writes the SDP file and reports inexact dimensions when the dimensions become known or change.
    fn describe(&mut self, stream: &Stream, picture: &Sent, status: &Status) -> Result<(), Failure> {
        let dimensions = Some((picture.width, picture.height));
        if self.description.dimensions == dimensions {
            return Ok(());
        }
        self.description.dimensions = dimensions;
        if let Some(inexact) = InexactDimensions::check(picture.width, picture.height) {
            status.remark(&inexact.to_string());
        }
        let Some(file) = &self.args.sdp else { return Ok(()) };
        let text = self.description.write(stream.sender().ssrc().0);
        let failure =
            |error| Failure::Message(format!("--sdp {}: {error}; choose a writable file", file.display()));
        std::fs::write(file, text).map_err(failure)
    }

    /// Reports an error of the source. Too many consecutive ones end the program.
    fn handle(&mut self, error: SourceError, consecutive: u32, status: &Status) -> Result<(), Failure> {
        if consecutive == MAX_ERRORS {
            return Err(error.into());
        }
        self.skip(status, &error.to_string());
        Ok(())
    }

    fn skip(&mut self, status: &Status, cause: &str) {
        self.skipped += 1;
        if self.skipped <= MAX_REMARKS {
            status.remark(&format!("picture skipped: {cause}"));
        }
    }

    fn show(&self, stream: &Stream, status: &mut Status, last: bool) -> Result<(), Failure> {
        let (stats, skipped) = (stream.sender().stats(), self.skipped);
        let text = |rate: Rate| {
            let mut text = format!(
                "{:.1} frames/s, {}, {} frames",
                rate.frames_per_s,
                bits(rate.bytes_per_s),
                stats.frames
            );
            for (count, what) in [
                (skipped, "skipped"),
                (stats.unsent_packets, "packets not sent"),
                (stats.send_errors, "send errors (no route or packets too long)"),
            ] {
                if count > 0 {
                    text += &format!(", {count} {what}");
                }
            }
            if let Some(report) = &stats.last_report {
                text += &format!("; {} receivers: {}", stats.receivers, describe(report));
            }
            text
        };
        let json = |rate: Rate| {
            json!({
                "frames": stats.frames,
                "bytes": stream.bytes(),
                "packets": stats.packets,
                "packet_bytes": stats.packet_bytes,
                "frames_per_s": rate.frames_per_s,
                "bytes_per_s": rate.bytes_per_s,
                "left_out": skipped,
                "unsent_packets": stats.unsent_packets,
                "send_errors": stats.send_errors,
                "late_ns": nanos(stats.late),
                "receivers": stats.receivers,
                "report": stats.last_report.map(|report| report_json(&report)),
                "last": last,
            })
        };
        Ok(status.show((stats.frames, stats.packet_bytes), last, text, json)?)
    }
}

/// Describes a receiver report.
fn describe(report: &PeerReport) -> String {
    let lost = f64::from(report.block.fraction_lost) / 2.56;
    let mut text = format!("{lost:.1} % lost, jitter {:.1} ms", jitter(report) * 1e3);
    if let Some(round_trip) = report.round_trip {
        text += &format!(", round trip {:.1} ms", round_trip.as_secs_f64() * 1e3);
    }
    text
}

fn report_json(report: &PeerReport) -> Value {
    json!({
        "from": report.from.to_string(),
        "fraction_lost": f64::from(report.block.fraction_lost) / 256.0,
        "lost_packets": report.block.cumulative_lost,
        "jitter_ns": (jitter(report) * 1e9) as u64,
        "round_trip_ns": report.round_trip.map(nanos),
    })
}

/// Interarrival jitter in seconds.
fn jitter(report: &PeerReport) -> f64 {
    f64::from(report.block.jitter_ticks) / f64::from(CLOCK_RATE_HZ)
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
