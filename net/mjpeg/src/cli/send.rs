//! `send`: pictures to one address or group.

use std::time::{Duration, Instant};

use netdyno_mjpeg::core::CLOCK_RATE_HZ;
use netdyno_mjpeg::source::SourceError;
use netdyno_mjpeg::{Description, PeerReport, Sender, SenderConfig, Sent, Step, Stream};
use serde_json::{Value, json};

use super::args::SendArgs;
use super::status::{Rate, Status, bits};
use super::{End, Failure, interface};

/// What is told of pictures and files that are left out; of more only the count is.
const MAX_REMARKS: u64 = 10;
/// Errors of the source in a row, without a picture between them, after which it is given up.
const MAX_ERRORS: u32 = 100;

pub(crate) fn run(args: &SendArgs, json: bool) -> Result<(), Failure> {
    // Before the source: what it starts is to end with us.
    let end = End::on_signals()?;
    let source = args.source.open(args.fps)?;
    let to = args.address().map_err(Failure::Told)?;
    let mut config = SenderConfig::default();
    config.packetizer.max_packet_bytes = args.packet_bytes;
    config.multicast_hops = args.ttl;
    config.rtcp_mux = args.rtcp_mux;
    config.interface = interface(args.interface.as_deref())?;
    let sender = Sender::open(to, &config)?;
    let fps = (args.fps > 0.0).then_some(args.fps);
    let mut description = Description::new(to);
    (description.framerate, description.hops, description.rtcp_mux) = (fps, Some(args.ttl), args.rtcp_mux);
    let verb = Send { args, end, description, left_out: 0 };
    verb.run(Stream::new(sender, source, fps), Status::new(json, true))
}

struct Send<'a> {
    args: &'a SendArgs,
    end: End,
    description: Description,
    left_out: u64,
}

impl Send<'_> {
    fn run(mut self, mut stream: Stream, mut status: Status) -> Result<(), Failure> {
        let (mut sent, mut errors) = (0, 0);
        while !self.end.is_wanted() && self.args.frames.is_none_or(|frames| sent < frames) {
            match stream.step() {
                Ok(Step::Sent(picture)) => {
                    (sent, errors) = (sent + 1, 0);
                    self.describe(&stream, &picture)?;
                }
                Ok(Step::Refused(error)) => self.leave_out(&status, &error.to_string()),
                Ok(Step::Nothing) => {}
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
        if sent == 0 && !self.end.is_wanted() {
            let why = if self.left_out > 0 {
                "none of its pictures can be sent"
            } else {
                "there is no picture in it"
            };
            return Err(Failure::Told(format!("nothing was sent: {why}")));
        }
        Ok(())
    }

    /// Writes the description, once the size of pictures is known, and when it changes.
    fn describe(&mut self, stream: &Stream, picture: &Sent) -> Result<(), Failure> {
        let dimensions = Some((picture.width, picture.height));
        if let Some(file) = self.args.sdp.as_ref().filter(|_| self.description.dimensions != dimensions) {
            self.description.dimensions = dimensions;
            let text = self.description.write(stream.sender().ssrc().0);
            let told = |error| {
                Failure::Told(format!("--sdp {}: {error}; name a file that can be written", file.display()))
            };
            std::fs::write(file, text).map_err(told)?;
        }
        Ok(())
    }

    /// A source that has failed may go on; one that only fails is given up.
    fn handle(&mut self, error: SourceError, in_a_row: u32, status: &Status) -> Result<(), Failure> {
        if in_a_row == MAX_ERRORS {
            return Err(error.into());
        }
        self.leave_out(status, &error.to_string());
        Ok(())
    }

    fn leave_out(&mut self, status: &Status, why: &str) {
        self.left_out += 1;
        if self.left_out <= MAX_REMARKS {
            status.remark(&format!("left out: {why}"));
        }
    }

    fn show(&self, stream: &Stream, status: &mut Status, last: bool) -> Result<(), Failure> {
        let (stats, left_out) = (stream.sender().stats(), self.left_out);
        let text = |rate: Rate| {
            let mut text = format!(
                "{:.1} frames/s, {}, {} frames",
                rate.frames_per_s,
                bits(rate.bytes_per_s),
                stats.frames
            );
            for (count, what) in [
                (left_out, "left out"),
                (stats.unsent_packets, "packets unsent"),
                (stats.send_errors, "refused: no route, or packets too long"),
            ] {
                if count > 0 {
                    text += &format!(", {count} {what}");
                }
            }
            if let Some(report) = &stats.last_report {
                text += &format!("; {} receiving: {}", stats.receivers, told(report));
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
                "left_out": left_out,
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

/// What a receiver has told, for people.
fn told(report: &PeerReport) -> String {
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

/// Seconds.
fn jitter(report: &PeerReport) -> f64 {
    f64::from(report.block.jitter_ticks) / f64::from(CLOCK_RATE_HZ)
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
