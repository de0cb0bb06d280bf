//! Both roles of the `mjpeg` workload on netdyno-mjpeg, used as in its documentation.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use netdyno_contender::mjpeg::{self, Job, Role};
use netdyno_contender::{lock_version, now_ns};
use netdyno_mjpeg::core::Event;
use netdyno_mjpeg::core::limits::MIN_PACKET_BYTES;
use netdyno_mjpeg::source::{Pattern, PatternSettings};
use netdyno_mjpeg::{Receiver, ReceiverConfig, Sender, SenderConfig, Step, Stream, spread};

fn main() {
    match mjpeg::connect() {
        Role::Sender(role) => send(role).unwrap_or_else(|error| role.job.lab.failed(error)),
        Role::Receiver(role) => receive(role).unwrap_or_else(|error| role.job.lab.failed(error)),
    }
}

fn ready(job: &Job) {
    if job.packet_bytes < MIN_PACKET_BYTES {
        job.lab.unsupported(format!("packets of less than {MIN_PACKET_BYTES} bytes"));
    }
    let version = lock_version(include_str!("../Cargo.lock"), "netdyno-mjpeg");
    job.lab.ready("netdyno-mjpeg", version, "one thread");
}

fn send(role: &'static mjpeg::Sender) -> Result<(), Box<dyn Error>> {
    let job = &role.job;
    ready(job);
    let mut config = SenderConfig::default();
    config.local = Some(job.local);
    config.packetizer.max_packet_bytes = job.packet_bytes;
    let mut sender = Sender::open(SocketAddr::new(job.peer, role.await_port()), &config)?;
    role.connected();

    let (mut walk, mut jpeg) = (role.walk(), Vec::new());
    while walk.next(&mut jpeg) {
        let (at, over) = match walk.interval() {
            Some(interval) => (walk.due(), spread(interval)),
            None => (Instant::now(), Duration::ZERO),
        };
        sender.send(&jpeg, at, over)?;
        walk.sent(&jpeg);
    }

    let mut settings = PatternSettings::default();
    (settings.width, settings.height, settings.quality) = (job.width, job.height, job.quality);
    let fps = (job.fps > 0).then_some(f64::from(job.fps));
    let mut stream = Stream::new(sender, Box::new(Pattern::new(settings)?), fps);
    loop {
        match stream.step()? {
            Step::Sent(_) => role.count(stream.picture().len()),
            Step::Skipped(error) => return Err(error.into()),
            _ => {}
        }
    }
}

fn receive(role: &'static mjpeg::Receiver) -> Result<(), Box<dyn Error>> {
    let job = &role.job;
    ready(job);
    let mut inbox = role.inbox();
    let created_ns = now_ns();
    let mut config = ReceiverConfig::default();
    config.depacketizer.dimensions = Some((job.width, job.height));
    let mut receiver = Receiver::open(SocketAddr::new(job.local, 0), &config)?;
    role.bound(receiver.local_address().port(), created_ns);
    loop {
        if let Some(Event::Frame(frame)) = receiver.next(Instant::now() + Duration::from_secs(1))? {
            inbox.take(frame.jpeg());
            receiver.recycle(frame);
        }
    }
}
