//! `receive`: pictures from one address or group, to files or a stream.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::{Event, Frame};
use netdyno_mjpeg::web::{Feed, Web};
use netdyno_mjpeg::{Description, Receiver, ReceiverConfig, limits};
use serde_json::json;

use super::args::ReceiveArgs;
use super::send::nanos;
use super::status::{Rate, Status, bits};
use super::{End, Failure, interface};

/// How long the network is waited for before it is looked whether to end.
const WAIT: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &ReceiveArgs, json: bool) -> Result<(), Failure> {
    let mut config = ReceiverConfig::default();
    config.interface = interface(args.interface.as_deref())?;
    config.depacketizer.max_wait = Duration::from_millis(args.wait);
    let mut listen = args.listen;
    if let Some(file) = &args.sdp {
        let description = read_description(file)?;
        config.depacketizer.payload_type = description.payload_type;
        config.depacketizer.dimensions = description.dimensions;
        listen = listen.or(Some(description.listen_address()));
    }
    let Some(listen) = listen else {
        return Err(Failure::Told("--listen or --sdp must be given".to_owned()));
    };
    let mut sink = Sink::new(args)?;
    let end = End::on_signals()?;
    let mut receiver = Receiver::open(listen, &config)?;
    let mut status = Status::new(json, !args.stdout);
    status.begin(&json!({ "listening": receiver.local_address().to_string() }))?;
    let mut page = Page::open(args, &status)?;
    let (mut frames, mut bytes) = (0, 0);
    while !end.is_wanted() && args.frames.is_none_or(|most| frames < most) {
        match receiver.next(Instant::now() + WAIT).map_err(Failure::Network)? {
            Some(Event::Frame(frame)) => {
                sink.take(&frame)?;
                page.show(&frame);
                (frames, bytes) = (frames + 1, bytes + frame.jpeg().len() as u64);
                receiver.recycle(frame);
            }
            None if args.once && receiver.has_ended() => break,
            _ => {}
        }
        page.tell(&receiver);
        if status.is_due(Instant::now()) {
            show(&receiver, bytes, &mut status, false)?;
        }
    }
    show(&receiver, bytes, &mut status, true)?;
    Ok(())
}

fn read_description(file: &Path) -> Result<Description, Failure> {
    let told = |why: String| Failure::Told(format!("--sdp {}: {why}", file.display()));
    let length = fs::metadata(file).map_err(|error| told(error.to_string()))?.len();
    if length > limits::MAX_SDP_BYTES as u64 {
        return Err(told(format!("it is longer than {} bytes: name a description", limits::MAX_SDP_BYTES)));
    }
    let bytes = fs::read(file).map_err(|error| told(error.to_string()))?;
    Description::parse(&bytes).map_err(|error| told(error.to_string()))
}

fn show(receiver: &Receiver, bytes: u64, status: &mut Status, last: bool) -> Result<(), Failure> {
    let stats = receiver.stats();
    let reception = stats.reception.unwrap_or_default();
    let frames = stats.frames;
    let text = |rate: Rate| {
        format!(
            "{:.1} frames/s, {}, {} frames, {} lost ({} packets), jitter {:.1} ms",
            rate.frames_per_s,
            bits(rate.bytes_per_s),
            frames.frames,
            frames.lost_frames,
            frames.missing_packets,
            reception.jitter.as_secs_f64() * 1e3,
        )
    };
    let json = |rate: Rate| {
        json!({
            "frames": frames.frames,
            "lost_frames": frames.lost_frames,
            "bytes": bytes,
            "packets": frames.packets,
            "packet_bytes": stats.packet_bytes,
            "missing_packets": frames.missing_packets,
            "late_packets": frames.late,
            "duplicate_packets": frames.duplicates,
            "malformed_packets": frames.malformed,
            "foreign_packets": frames.foreign + stats.foreign_datagrams,
            "frames_per_s": rate.frames_per_s,
            "bytes_per_s": rate.bytes_per_s,
            "jitter_ns": nanos(reception.jitter),
            "last": last,
        })
    };
    Ok(status.show((frames.frames, stats.packet_bytes), last, text, json)?)
}

/// The page for browsers, if one is wanted.
struct Page(Option<Feed>);

impl Page {
    fn open(args: &ReceiveArgs, status: &Status) -> Result<Self, Failure> {
        let Some(address) = args.web else { return Ok(Self(None)) };
        let told = |error: io::Error| {
            Failure::Told(format!("--web {address}: {error}; name another address or port"))
        };
        let web = Web::open(address).map_err(told)?;
        status.remark(&format!("see http://{}/", web.address()));
        Ok(Self(Some(Feed::new(web, Instant::now()))))
    }

    fn show(&mut self, frame: &Frame) {
        if let Some(feed) = &mut self.0 {
            feed.show(frame);
        }
    }

    fn tell(&mut self, receiver: &Receiver) {
        if let Some(feed) = &mut self.0 {
            let now = Instant::now();
            if now >= feed.next_deadline() {
                feed.tell(now, &receiver.stats(), receiver.source_name());
            }
        }
    }
}

/// Where pictures go.
enum Sink {
    Folder(Folder),
    Stdout,
    Nothing,
}

impl Sink {
    fn new(args: &ReceiveArgs) -> Result<Self, Failure> {
        Ok(match &args.into {
            Some(folder) => Self::Folder(Folder::open(folder.clone())?),
            None if args.stdout => Self::Stdout,
            None => Self::Nothing,
        })
    }

    fn take(&mut self, frame: &Frame) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => folder.write(frame.jpeg()),
            Self::Stdout => {
                // Line buffers are of no use to pictures: one write each, but for what a pipe takes at once.
                let mut out = io::stdout().lock();
                out.write_all(frame.jpeg())?;
                Ok(out.flush()?)
            }
            Self::Nothing => Ok(()),
        }
    }
}

/// Pictures as files, each whole as soon as it has its name.
struct Folder {
    path: PathBuf,
    part: PathBuf,
    /// Number of the next picture.
    next: u64,
}

impl Folder {
    fn open(path: PathBuf) -> Result<Self, Failure> {
        let told = |error: io::Error| {
            Failure::Told(format!("--into {}: {error}; name a folder that can be written", path.display()))
        };
        fs::create_dir_all(&path).map_err(told)?;
        let mut next = 1;
        for entry in fs::read_dir(&path).map_err(told)? {
            let name = entry.map_err(told)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".jpg")?.parse::<u64>().ok());
            next = number.map_or(next, |number| next.max(number.saturating_add(1)));
        }
        Ok(Self { part: path.join(".part"), path, next })
    }

    fn write(&mut self, jpeg: &[u8]) -> Result<(), Failure> {
        let name = self.path.join(format!("{:08}.jpg", self.next));
        let told = |error: io::Error| {
            Failure::Told(format!("{}: {error}; make room, or name another folder", name.display()))
        };
        fs::write(&self.part, jpeg).and_then(|()| fs::rename(&self.part, &name)).map_err(told)?;
        self.next += 1;
        Ok(())
    }
}
