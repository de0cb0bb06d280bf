//! `receive`: receives frames and writes them to files or a stream.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::limits::MAX_SDP_BYTES;
use netdyno_mjpeg::core::{Description, Event, Frame};
use netdyno_mjpeg::web::{Feed, Web};
use netdyno_mjpeg::{Receiver, ReceiverConfig};
use serde_json::json;

use super::args::ReceiveArgs;
use super::send::nanos;
use super::status::{Rate, Status, bits};
use super::{Failure, StopFlag, interface};

/// Interval of checks of the stop flag.
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
        return Err(Failure::Message("--listen or --sdp must be given".to_owned()));
    };
    let mut sink = Sink::new(args)?;
    let stop = StopFlag::on_signals()?;
    let mut receiver = Receiver::open(listen, &config)?;
    let mut status = Status::new(json, !args.stdout);
    status.begin(&json!({ "listening": receiver.local_address().to_string() }))?;
    let mut page = Page::open(args, &status)?;
    let (mut frames, mut bytes) = (0, 0);
    while !stop.is_set() && args.frames.is_none_or(|max_frames| frames < max_frames) {
        match receiver.next(Instant::now() + WAIT).map_err(Failure::Network)? {
            Some(Event::Frame(frame)) => {
                sink.write(&frame)?;
                page.show(&frame);
                (frames, bytes) = (frames + 1, bytes + frame.jpeg().len() as u64);
                receiver.recycle(frame);
            }
            None if args.once && receiver.has_ended() => break,
            _ => {}
        }
        page.update(&receiver);
        if status.is_due(Instant::now()) {
            show(&receiver, bytes, &mut status, false)?;
        }
    }
    show(&receiver, bytes, &mut status, true)?;
    Ok(())
}

fn read_description(file: &Path) -> Result<Description, Failure> {
    let failure = |cause: String| Failure::Message(format!("--sdp {}: {cause}", file.display()));
    let mut bytes = Vec::new();
    let mut reader =
        File::open(file).map_err(|error| failure(error.to_string()))?.take(MAX_SDP_BYTES as u64 + 1);
    reader.read_to_end(&mut bytes).map_err(|error| failure(error.to_string()))?;
    if bytes.len() > MAX_SDP_BYTES {
        return Err(failure(format!("longer than {MAX_SDP_BYTES} bytes; choose an SDP file")));
    }
    Description::parse(&bytes).map_err(|error| failure(error.to_string()))
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

/// The web page, if requested.
struct Page(Option<Feed>);

impl Page {
    fn open(args: &ReceiveArgs, status: &Status) -> Result<Self, Failure> {
        let Some(address) = args.web else { return Ok(Self(None)) };
        let failure = |error: io::Error| {
            Failure::Message(format!("--web {address}: {error}; choose another address or port"))
        };
        let web = Web::open(address).map_err(failure)?;
        status.remark(&format!("web page: http://{}/", web.address()));
        Ok(Self(Some(Feed::new(web, Instant::now()))))
    }

    fn show(&mut self, frame: &Frame) {
        if let Some(feed) = &mut self.0 {
            feed.show(frame);
        }
    }

    fn update(&mut self, receiver: &Receiver) {
        if let Some(feed) = &mut self.0 {
            let now = Instant::now();
            if now >= feed.next_deadline() {
                feed.update(now, &receiver.stats(), receiver.source_name());
            }
        }
    }
}

/// The destination of frames.
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

    fn write(&mut self, frame: &Frame) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => folder.write(frame.jpeg()),
            Self::Stdout => {
                // A picture is one write unless the pipe accepts less at once.
                let mut out = io::stdout().lock();
                out.write_all(frame.jpeg())?;
                Ok(out.flush()?)
            }
            Self::Nothing => Ok(()),
        }
    }
}

/// A folder of numbered JPEG files. A file receives its final name when it is complete.
struct Folder {
    path: PathBuf,
    /// Path of incomplete files, with an unpredictable name.
    part: PathBuf,
    /// Number of the next file.
    next: u64,
}

impl Folder {
    fn open(path: PathBuf) -> Result<Self, Failure> {
        let failure = |error: io::Error| {
            Failure::Message(format!("--into {}: {error}; choose a writable folder", path.display()))
        };
        fs::create_dir_all(&path).map_err(failure)?;
        let mut next = 1;
        for entry in fs::read_dir(&path).map_err(failure)? {
            let name = entry.map_err(failure)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".jpg")?.parse::<u64>().ok());
            next = number.map_or(next, |number| next.max(number.saturating_add(1)));
        }
        let mut suffix = [0; 8];
        getrandom::fill(&mut suffix).map_err(|error| failure(io::Error::other(error)))?;
        let part = path.join(format!(".{:016x}.part", u64::from_ne_bytes(suffix)));
        Ok(Self { part, path, next })
    }

    fn write(&mut self, jpeg: &[u8]) -> Result<(), Failure> {
        loop {
            let name = self.path.join(format!("{:08}.jpg", self.next));
            self.next += 1;
            match self.create(&name, jpeg) {
                // Another receiver uses the same folder.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let path = name.display();
                    return Err(Failure::Message(format!(
                        "{path}: {error}; free disk space or choose another folder"
                    )));
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Creates a complete file without following links or replacing an existing file.
    fn create(&self, name: &Path, jpeg: &[u8]) -> io::Result<()> {
        let mut part = OpenOptions::new().write(true).create_new(true).open(&self.part)?;
        let result = part.write_all(jpeg).and_then(|()| match fs::hard_link(&self.part, name) {
            // The file system has no hard links.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !name.exists() => {
                fs::rename(&self.part, name)
            }
            result => result,
        });
        let _ = fs::remove_file(&self.part);
        result
    }
}
