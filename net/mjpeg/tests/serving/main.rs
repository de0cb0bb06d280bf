//! The RTSP server with real sockets: who is served what, and who cannot hinder others.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod client;
mod crowd;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::Jpeg;
use netdyno_mjpeg::server::{Figures, Left, Server, ServerConfig, ServerError, ServerEvent, Stopper};
use netdyno_mjpeg::source::{Next, Source, SourceError, Timing};

use client::{Came, Client};

/// Only guards against hanging.
const GUARD: Duration = Duration::from_secs(60);

/// Pictures in memory, again and again, or so many.
struct Clip {
    pictures: Arc<Vec<Vec<u8>>>,
    reads: Arc<AtomicUsize>,
    limit: usize,
    timing: Timing,
}

impl Source for Clip {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        let index = self.reads.load(Ordering::Relaxed);
        if index == self.limit {
            return Ok(Next::End);
        }
        if self.timing == Timing::Live {
            thread::sleep(Duration::from_millis(20));
        }
        self.reads.store(index + 1, Ordering::Release);
        into.clear();
        into.extend_from_slice(&self.pictures[index % self.pictures.len()]);
        Ok(Next::Picture)
    }

    fn timing(&self) -> Timing {
        self.timing
    }
}

/// A server in a thread of its own.
struct Served {
    address: SocketAddr,
    stopper: Stopper,
    events: Receiver<ServerEvent>,
    thread: JoinHandle<Result<Figures, ServerError>>,
    reads: Arc<AtomicUsize>,
    clip: Scans,
}

/// The scan data of a clip's pictures.
struct Scans(Vec<Vec<u8>>);

fn serve(
    pictures: Vec<Vec<u8>>,
    limit: usize,
    timing: Timing,
    set: impl FnOnce(&mut ServerConfig),
) -> Served {
    let mut config = ServerConfig::default();
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.frames_per_s = 50.0;
    set(&mut config);
    let reads = Arc::new(AtomicUsize::new(0));
    let scan = |picture: &Vec<u8>| Jpeg::parse(picture).map(|jpeg| jpeg.scan().to_vec()).unwrap_or_default();
    let scans = Scans(pictures.iter().map(scan).collect());
    let clip = Clip { pictures: Arc::new(pictures), reads: reads.clone(), limit, timing };
    let server = Server::bind(config).unwrap();
    let (address, stopper) = (server.address(), server.stopper());
    let (tell, events) = channel();
    let thread = thread::spawn(move || {
        server.run(Box::new(clip), |event| {
            let _ = tell.send(event);
        })
    });
    Served { address, stopper, events, thread, reads, clip: scans }
}

fn pictures(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|seed| support::plain(320, 240, seed + 1)).collect()
}

fn serve_clip(set: impl FnOnce(&mut ServerConfig)) -> Served {
    serve(pictures(5), usize::MAX, Timing::OnDemand, set)
}

impl Served {
    /// The next event but figures.
    fn event(&self) -> ServerEvent {
        loop {
            match self.events.recv_timeout(GUARD).expect("an event") {
                ServerEvent::Figures(_) => {}
                event => return event,
            }
        }
    }

    /// Why, and after how many frames sent and left out, a client plays no more.
    fn stopped(&self) -> (Left, u64, u64) {
        loop {
            if let ServerEvent::Stopped { why, frames, left_out, .. } = self.event() {
                return (why, frames, left_out);
            }
        }
    }

    fn stop(self) -> Figures {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap()
    }
}

impl Scans {
    /// Which picture it is.
    fn index(&self, scan: &[u8]) -> usize {
        self.0.iter().position(|ours| ours == scan).expect("a picture of the clip, bit by bit")
    }

    /// Has a client see so many frames, none left out.
    fn see(&self, client: &mut Client, count: usize) {
        let mut last = None;
        for _ in 0..count {
            let index = self.index(&client.frame().expect("a frame"));
            assert!(last.is_none_or(|last| index == (last + 1) % self.0.len()), "{last:?} {index}");
            last = Some(index);
        }
    }
}

#[test]
fn clients_see_the_clip_by_both_ways() {
    let served = serve_clip(|_| {});
    for is_udp in [false, true] {
        let mut client = Client::connect(served.address);
        let answer = if is_udp { client.play_udp() } else { client.play_tcp() };
        let info = answer.header("RTP-Info");
        assert!(info.starts_with(&format!("url=rtsp://{}/stream/video;seq=", served.address)), "{info}");
        served.clip.see(&mut client, 12);
        assert_eq!(client.ask("PAUSE", "", "").code, 200);
        assert_eq!(served.stopped().0, Left::Paused);
        assert_eq!(client.ask("PLAY", "", "").code, 200);
        // What was under way at the pause is no frame of it; the next whole ones are.
        if !is_udp {
            served.clip.see(&mut client, 3);
        }
        assert_eq!(client.ask("TEARDOWN", "", "").code, 200);
        assert_eq!(served.stopped().0, Left::Ended);
        assert_eq!(client.ask("PLAY", "", "").code, 454);
    }
    let figures = served.stop();
    assert!(figures.frames >= 24 && figures.frames_left_out == 0 && figures.clients == 0, "{figures:?}");
}

#[test]
fn the_first_packet_is_the_one_that_was_told() {
    let served = serve_clip(|_| {});
    // The second joins a stream that goes on.
    let mut first = Client::connect(served.address);
    for client in [&mut first, &mut Client::connect(served.address)] {
        let answer = client.play_tcp();
        let info = answer.header("RTP-Info").to_owned();
        let told = |name: &str| -> u32 {
            info.split(';').find_map(|part| part.strip_prefix(name)?.parse().ok()).unwrap()
        };
        let (channel, packet) = client.packet();
        assert_eq!((channel, u32::from(u16::from_be_bytes([packet[2], packet[3]]))), (0, told("seq=")));
        let time = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
        assert_eq!(time, told("rtptime="));
        served.clip.see(client, 3);
    }
    served.stop();
}

#[test]
fn files_are_read_only_while_somebody_watches() {
    let served = serve_clip(|_| {});
    let mut client = Client::connect(served.address);
    // To be described, a picture has to be known.
    while client.ask("DESCRIBE", "", "").code == 503 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(100));
    assert_eq!(served.reads.load(Ordering::Acquire), 1);
    client.play_tcp();
    served.clip.see(&mut client, 5);
    client.ask("TEARDOWN", "", "");
    served.stopped();
    let reads = served.reads.load(Ordering::Acquire);
    thread::sleep(Duration::from_millis(100));
    assert!(served.reads.load(Ordering::Acquire) <= reads + 1, "at most the one that was ordered");
    served.stop();
}

#[test]
fn a_live_source_goes_on_without_clients() {
    let served = serve(pictures(5), usize::MAX, Timing::Live, |_| {});
    while served.reads.load(Ordering::Acquire) < 5 {
        thread::sleep(Duration::from_millis(5));
    }
    let mut client = Client::connect(served.address);
    client.play_udp();
    for _ in 0..10 {
        served.clip.index(&client.frame().unwrap());
    }
    served.stop();
}

#[test]
fn who_disappears_is_missed() {
    let served = serve_clip(|config| config.session_timeout = Duration::from_secs(2));
    let mut client = Client::connect(served.address);
    client.play_tcp();
    served.clip.see(&mut client, 2);
    drop(client);
    assert_eq!(served.stopped().0, Left::Disconnected);

    let mut silent = Client::connect(served.address);
    silent.play_udp();
    let mut reporting = Client::connect(served.address);
    reporting.play_udp();
    // The connections may go: one says by RTCP that it is there.
    silent.disconnect();
    reporting.disconnect();
    let (begin, mut stopped) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(5) {
        reporting.report();
        thread::sleep(Duration::from_millis(200));
        while let Ok(event) = served.events.try_recv() {
            if let ServerEvent::Stopped { why, .. } = event {
                assert_eq!(why, Left::Silent);
                stopped += 1;
            }
        }
    }
    assert_eq!(stopped, 1, "the silent one");
    assert!(reporting.frame().is_some());
    served.stop();
}

#[test]
fn who_is_slow_loses_whole_frames() {
    let served = serve_clip(|_| {});
    let mut slow = Client::connect(served.address);
    slow.play_tcp();
    let mut other = Client::connect(served.address);
    other.play_udp();
    thread::scope(|scope| {
        let (clip, other) = (&served.clip, &mut other);
        scope.spawn(move || clip.see(other, 100));
        clip.see(&mut slow, 3);
        thread::sleep(Duration::from_millis(1500));
        // Whole ones, or the client would say so.
        for _ in 0..40 {
            served.clip.index(&slow.frame().expect("a frame"));
        }
    });
    assert_eq!(slow.ask("TEARDOWN", "", "").code, 200);
    let (why, frames, left_out) = served.stopped();
    assert_eq!(why, Left::Ended);
    assert!(frames >= 43 && left_out > 0, "{frames} {left_out}");
    served.stop();
}

#[test]
fn who_takes_nothing_is_given_up() {
    let served = serve_clip(|config| config.stall = Duration::from_secs(1));
    let mut stalled = Client::connect(served.address);
    stalled.play_tcp();
    // One more, which asks without end and hears no answer: its requests wait, and then it is given up, too.
    let mut asking = Client::connect(served.address);
    let asker = thread::spawn(move || {
        let request = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(1000);
        let begin = Instant::now();
        while asking.write(&request).is_ok() {
            assert!(begin.elapsed() < GUARD);
        }
    });
    let mut other = Client::connect(served.address);
    other.play_tcp();
    served.clip.see(&mut other, 100);
    let (why, frames, left_out) = served.stopped();
    assert_eq!(why, Left::Stalled);
    assert!(frames > 0 && left_out > 0, "{frames} {left_out}");
    asker.join().unwrap();
    served.clip.see(&mut other, 5);
    served.stop();
}

#[test]
fn the_end_is_a_goodbye_behind_a_whole_frame() {
    let served = serve_clip(|_| {});
    let mut clients = [Client::connect(served.address), Client::connect(served.address)];
    clients[0].play_tcp();
    clients[1].play_udp();
    for client in &mut clients {
        served.clip.see(client, 3);
    }
    served.stopper.stop();
    for client in &mut clients {
        let (mut frames, mut last) = (3, None);
        while last.is_none() {
            match client.next() {
                Came::Frame(_) => frames += 1,
                Came::Report { packets, bye: true } => last = Some(packets),
                Came::Report { .. } => {}
                Came::Lost | Came::Closed => panic!("no goodbye"),
            }
        }
        let each = last.unwrap() as usize / frames;
        assert!((5..40).contains(&each), "{last:?} packets, {frames} frames");
    }
    assert!(served.thread.join().unwrap().is_ok());
}

#[test]
fn the_source_s_end_is_the_server_s() {
    let served = serve(pictures(3), 7, Timing::OnDemand, |_| {});
    let mut client = Client::connect(served.address);
    client.play_tcp();
    served.clip.see(&mut client, 7);
    assert!(client.frame().is_none());
    assert_eq!(served.thread.join().unwrap().unwrap().frames, 7);
}

#[test]
fn pictures_that_cannot_be_served_are_left_out() {
    let mut clip = pictures(3);
    clip.insert(1, b"no picture".to_vec());
    let served = serve(clip, usize::MAX, Timing::OnDemand, |_| {});
    let mut client = Client::connect(served.address);
    client.play_tcp();
    for index in [0, 2, 3, 0, 2, 3] {
        assert_eq!(served.clip.index(&client.frame().unwrap()), index);
    }
    let refused = std::iter::repeat_with(|| served.event()).find_map(|event| match event {
        ServerEvent::Refused(why, count) => Some((why, count)),
        _ => None,
    });
    let (why, count) = refused.unwrap();
    assert!(why.contains("not a JPEG file") && count == 1, "{why} {count}");
    served.stop();

    let served = serve(vec![b"no picture".to_vec()], usize::MAX, Timing::OnDemand, |_| {});
    let error = served.thread.join().unwrap().unwrap_err();
    assert!(matches!(error, ServerError::Source(100, _)), "{error}");
}

#[test]
fn there_is_room_for_so_many() {
    let served = serve_clip(|config| config.max_clients = 1);
    let mut first = Client::connect(served.address);
    first.play_tcp();
    let mut second = Client::connect(served.address);
    let answer = second.ask("SETUP", "/video", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n");
    assert_eq!(answer.code, 503);
    second.write(b"what is this?\r\n\r\n").unwrap();
    assert_eq!(second.answer().code, 400);
    assert!(second.frame().is_none(), "closed after it");
    served.clip.see(&mut first, 3);
    served.stop();
}

/// Connections without a session, kept open by asking again and again, are bounded as well.
#[test]
fn one_host_has_so_many_connections() {
    let served = serve_clip(|config| config.max_clients_per_host = 1);
    let mut kept: Vec<_> = (0..9).map(|_| Client::connect(served.address)).collect();
    assert!(kept.iter_mut().all(Client::is_heard));
    assert!(!Client::connect(served.address).is_heard(), "one too many");
    let mut other = Client::connect_from([127, 0, 0, 2], served.address);
    other.play_tcp();
    served.clip.see(&mut other, 3);
    kept.pop();
    let begin = Instant::now();
    while !Client::connect(served.address).is_heard() {
        assert!(begin.elapsed() < GUARD);
    }
    served.stop();
}

#[test]
fn ipv6_is_served_as_well() {
    let listen = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 0));
    if std::net::TcpListener::bind(listen).is_err() {
        println!("skipped: needs IPv6");
        return;
    }
    let served = serve_clip(|config| config.listen = listen);
    let mut client = Client::connect(served.address);
    client.play_udp();
    served.clip.see(&mut client, 3);
    served.stop();
}

#[test]
fn settings_that_cannot_work_are_told() {
    let check = |set: &dyn Fn(&mut ServerConfig)| {
        let mut config = ServerConfig::default();
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        set(&mut config);
        Server::bind(config).err().map(|error| error.to_string())
    };
    assert_eq!(check(&|_| {}), None);
    for (set, told) in [
        (&(|config: &mut ServerConfig| config.path = "stream".into()) as &dyn Fn(&mut ServerConfig), "path"),
        (&|config| config.path = "/a b".into(), "path"),
        (&|config| config.frames_per_s = 0.0, "rate"),
        (&|config| config.frames_per_s = f64::NAN, "rate"),
        (&|config| config.max_clients = 0, "clients"),
        (&|config| config.max_clients_per_host = 0, "one host"),
        (&|config| config.packet_bytes = 100, "packets"),
        (&|config| config.listen = SocketAddr::from(([192, 0, 2, 1], 0)), "192.0.2.1"),
    ] {
        let error = check(set).expect(told);
        assert!(error.contains(told), "{error}");
    }
}
