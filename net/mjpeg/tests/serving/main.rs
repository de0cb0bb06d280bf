//! The RTSP server with real sockets: delivery, timeouts, limits and slow clients.

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
use netdyno_mjpeg::server::{
    Server, ServerConfig, ServerError, ServerEvent, ServerStats, StopReason, Stopper,
};
use netdyno_mjpeg::source::{Next, Source, SourceError, Timing};

use client::{Client, ClientEvent};

/// Bounds the test if the server hangs.
const GUARD: Duration = Duration::from_secs(60);

/// A source of pictures in memory that repeats and ends after `limit` pictures.
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

/// A server in its own thread.
struct TestServer {
    address: SocketAddr,
    stopper: Stopper,
    events: Receiver<ServerEvent>,
    thread: JoinHandle<Result<ServerStats, ServerError>>,
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
) -> TestServer {
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
    let (event_sender, events) = channel();
    let thread = thread::spawn(move || {
        server.run(Box::new(clip), |event| {
            let _ = event_sender.send(event);
        })
    });
    TestServer { address, stopper, events, thread, reads, clip: scans }
}

fn pictures(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|seed| support::plain(320, 240, seed + 1)).collect()
}

fn serve_clip(set: impl FnOnce(&mut ServerConfig)) -> TestServer {
    serve(pictures(5), usize::MAX, Timing::OnDemand, set)
}

impl TestServer {
    /// The next event other than statistics.
    fn event(&self) -> ServerEvent {
        loop {
            match self.events.recv_timeout(GUARD).expect("an event") {
                ServerEvent::Stats(_) => {}
                event => return event,
            }
        }
    }

    /// The reason why the next client stops, and its sent and skipped frames.
    fn stopped(&self) -> (StopReason, u64, u64) {
        loop {
            if let ServerEvent::Stopped { reason, frames, skipped_frames, .. } = self.event() {
                return (reason, frames, skipped_frames);
            }
        }
    }

    fn stop(self) -> ServerStats {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap()
    }
}

impl Scans {
    /// The index of the picture with this scan.
    fn index(&self, scan: &[u8]) -> usize {
        self.0.iter().position(|original| original == scan).expect("an unchanged picture of the clip")
    }

    /// Checks that a client receives `count` consecutive frames.
    fn expect_frames(&self, client: &mut Client, count: usize) {
        let mut last = None;
        for _ in 0..count {
            let index = self.index(&client.frame().expect("a frame"));
            assert!(last.is_none_or(|last| index == (last + 1) % self.0.len()), "{last:?} {index}");
            last = Some(index);
        }
    }
}

#[test]
fn clients_receive_the_clip_over_udp_and_tcp() {
    let served = serve_clip(|_| {});
    for is_udp in [false, true] {
        let mut client = Client::connect(served.address);
        let response = if is_udp { client.play_udp() } else { client.play_tcp() };
        let info = response.header("RTP-Info");
        assert!(info.starts_with(&format!("url=rtsp://{}/stream/video;seq=", served.address)), "{info}");
        served.clip.expect_frames(&mut client, 12);
        assert_eq!(client.request("PAUSE", "", "").code, 200);
        assert_eq!(served.stopped().0, StopReason::Paused);
        assert_eq!(client.request("PLAY", "", "").code, 200);
        // The frame that was interrupted by the pause is not delivered; later ones are complete.
        if !is_udp {
            served.clip.expect_frames(&mut client, 3);
        }
        assert_eq!(client.request("TEARDOWN", "", "").code, 200);
        assert_eq!(served.stopped().0, StopReason::Teardown);
        assert_eq!(client.request("PLAY", "", "").code, 454);
    }
    let stats = served.stop();
    assert!(stats.frames >= 24 && stats.skipped_frames == 0 && stats.clients == 0, "{stats:?}");
}

#[test]
fn rtp_info_describes_the_first_packet() {
    let served = serve_clip(|_| {});
    // The second client joins a running stream.
    let mut first = Client::connect(served.address);
    for client in [&mut first, &mut Client::connect(served.address)] {
        let response = client.play_tcp();
        let info = response.header("RTP-Info").to_owned();
        let value = |name: &str| -> u32 {
            info.split(';').find_map(|part| part.strip_prefix(name)?.parse().ok()).unwrap()
        };
        let (channel, packet) = client.packet();
        assert_eq!((channel, u32::from(u16::from_be_bytes([packet[2], packet[3]]))), (0, value("seq=")));
        let time = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
        assert_eq!(time, value("rtptime="));
        served.clip.expect_frames(client, 3);
    }
    served.stop();
}

#[test]
fn files_are_read_only_while_a_client_plays() {
    let served = serve_clip(|_| {});
    let mut client = Client::connect(served.address);
    // DESCRIBE needs the first picture.
    while client.request("DESCRIBE", "", "").code == 503 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(100));
    assert_eq!(served.reads.load(Ordering::Acquire), 1);
    client.play_tcp();
    served.clip.expect_frames(&mut client, 5);
    client.request("TEARDOWN", "", "");
    served.stopped();
    let reads = served.reads.load(Ordering::Acquire);
    thread::sleep(Duration::from_millis(100));
    assert!(served.reads.load(Ordering::Acquire) <= reads + 1, "at most the requested frame");
    served.stop();
}

#[test]
fn live_source_is_read_without_clients() {
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
fn disappeared_clients_are_removed() {
    let served = serve_clip(|config| config.session_timeout = Duration::from_secs(2));
    let mut client = Client::connect(served.address);
    client.play_tcp();
    served.clip.expect_frames(&mut client, 2);
    drop(client);
    assert_eq!(served.stopped().0, StopReason::Disconnected);

    let mut silent = Client::connect(served.address);
    silent.play_udp();
    let mut reporting = Client::connect(served.address);
    reporting.play_udp();
    // UDP sessions outlive their connections; one client sends RTCP.
    silent.disconnect();
    reporting.disconnect();
    let (begin, mut stopped) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(5) {
        reporting.report();
        thread::sleep(Duration::from_millis(200));
        while let Ok(event) = served.events.try_recv() {
            if let ServerEvent::Stopped { reason, .. } = event {
                assert_eq!(reason, StopReason::TimedOut);
                stopped += 1;
            }
        }
    }
    assert_eq!(stopped, 1, "only the silent client");
    assert!(reporting.frame().is_some());
    served.stop();
}

#[test]
fn slow_client_loses_whole_frames() {
    let served = serve_clip(|_| {});
    let mut slow = Client::connect(served.address);
    slow.play_tcp();
    let mut other = Client::connect(served.address);
    other.play_udp();
    thread::scope(|scope| {
        let (clip, other) = (&served.clip, &mut other);
        scope.spawn(move || clip.expect_frames(other, 100));
        clip.expect_frames(&mut slow, 3);
        thread::sleep(Duration::from_millis(1500));
        // The client panics on incomplete frames.
        for _ in 0..40 {
            served.clip.index(&slow.frame().expect("a frame"));
        }
    });
    assert_eq!(slow.request("TEARDOWN", "", "").code, 200);
    let (reason, frames, skipped) = served.stopped();
    assert_eq!(reason, StopReason::Teardown);
    assert!(frames >= 43 && skipped > 0, "{frames} {skipped}");
    served.stop();
}

#[test]
fn stalled_clients_are_disconnected() {
    let served = serve_clip(|config| config.stall_timeout = Duration::from_secs(1));
    let mut stalled = Client::connect(served.address);
    stalled.play_tcp();
    // Another client sends requests without reading responses. Its requests are held, then it is disconnected.
    let mut flooding = Client::connect(served.address);
    let flood = thread::spawn(move || {
        let request = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(1000);
        let begin = Instant::now();
        while flooding.write(&request).is_ok() {
            assert!(begin.elapsed() < GUARD);
        }
    });
    let mut other = Client::connect(served.address);
    other.play_tcp();
    served.clip.expect_frames(&mut other, 100);
    let (reason, frames, skipped) = served.stopped();
    assert_eq!(reason, StopReason::Stalled);
    assert!(frames > 0 && skipped > 0, "{frames} {skipped}");
    flood.join().unwrap();
    served.clip.expect_frames(&mut other, 5);
    served.stop();
}

#[test]
fn server_stop_sends_bye_after_a_complete_frame() {
    let served = serve_clip(|_| {});
    let mut clients = [Client::connect(served.address), Client::connect(served.address)];
    clients[0].play_tcp();
    clients[1].play_udp();
    for client in &mut clients {
        served.clip.expect_frames(client, 3);
    }
    served.stopper.stop();
    for client in &mut clients {
        let (mut frames, mut last) = (3, None);
        while last.is_none() {
            match client.next() {
                ClientEvent::Frame(_) => frames += 1,
                ClientEvent::Report { packets, bye: true } => last = Some(packets),
                ClientEvent::Report { .. } => {}
                ClientEvent::Lost | ClientEvent::Closed => panic!("no BYE"),
            }
        }
        let each = last.unwrap() as usize / frames;
        assert!((5..40).contains(&each), "{last:?} packets, {frames} frames");
    }
    assert!(served.thread.join().unwrap().is_ok());
}

#[test]
fn end_of_source_stops_the_server() {
    let served = serve(pictures(3), 7, Timing::OnDemand, |_| {});
    let mut client = Client::connect(served.address);
    client.play_tcp();
    served.clip.expect_frames(&mut client, 7);
    assert!(client.frame().is_none());
    assert_eq!(served.thread.join().unwrap().unwrap().frames, 7);
}

#[test]
fn invalid_pictures_are_skipped() {
    let mut clip = pictures(3);
    clip.insert(1, b"no picture".to_vec());
    let served = serve(clip, usize::MAX, Timing::OnDemand, |_| {});
    let mut client = Client::connect(served.address);
    client.play_tcp();
    for index in [0, 2, 3, 0, 2, 3] {
        assert_eq!(served.clip.index(&client.frame().unwrap()), index);
    }
    let skipped = std::iter::repeat_with(|| served.event()).find_map(|event| match event {
        ServerEvent::PictureSkipped { cause, count } => Some((cause, count)),
        _ => None,
    });
    let (cause, count) = skipped.unwrap();
    assert!(cause.contains("not a valid JPEG file") && count == 1, "{cause} {count}");
    served.stop();

    let served = serve(vec![b"no picture".to_vec()], usize::MAX, Timing::OnDemand, |_| {});
    let error = served.thread.join().unwrap().unwrap_err();
    assert!(matches!(error, ServerError::Source { failures: 100, .. }), "{error}");
}

#[test]
fn number_of_clients_is_limited() {
    let served = serve_clip(|config| config.max_clients = 1);
    let mut first = Client::connect(served.address);
    first.play_tcp();
    let mut second = Client::connect(served.address);
    let response = second.request("SETUP", "/video", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n");
    assert_eq!(response.code, 503);
    second.write(b"what is this?\r\n\r\n").unwrap();
    assert_eq!(second.response().code, 400);
    assert!(second.frame().is_none(), "closed after the response");
    served.clip.expect_frames(&mut first, 3);
    served.stop();
}

/// The limit includes connections without a session.
#[test]
fn connections_per_host_are_limited() {
    let served = serve_clip(|config| config.max_clients_per_host = 1);
    let mut kept: Vec<_> = (0..9).map(|_| Client::connect(served.address)).collect();
    assert!(kept.iter_mut().all(Client::is_served));
    assert!(!Client::connect(served.address).is_served(), "beyond the limit");
    let mut other = Client::connect_from([127, 0, 0, 2], served.address);
    other.play_tcp();
    served.clip.expect_frames(&mut other, 3);
    kept.pop();
    let begin = Instant::now();
    while !Client::connect(served.address).is_served() {
        assert!(begin.elapsed() < GUARD);
    }
    served.stop();
}

#[test]
fn ipv6_is_served() {
    let listen = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 0));
    if std::net::TcpListener::bind(listen).is_err() {
        println!("skipped: needs IPv6");
        return;
    }
    let served = serve_clip(|config| config.listen = listen);
    let mut client = Client::connect(served.address);
    client.play_udp();
    served.clip.expect_frames(&mut client, 3);
    served.stop();
}

#[test]
fn invalid_settings_are_rejected() {
    let check = |set: &dyn Fn(&mut ServerConfig)| {
        let mut config = ServerConfig::default();
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        set(&mut config);
        Server::bind(config).err().map(|error| error.to_string())
    };
    assert_eq!(check(&|_| {}), None);
    for (set, cause) in [
        (&(|config: &mut ServerConfig| config.path = "stream".into()) as &dyn Fn(&mut ServerConfig), "path"),
        (&|config| config.path = "/a b".into(), "path"),
        (&|config| config.frames_per_s = 0.0, "rate"),
        (&|config| config.frames_per_s = f64::NAN, "rate"),
        (&|config| config.max_clients = 0, "clients"),
        (&|config| config.max_clients_per_host = 0, "per host"),
        (&|config| config.packet_bytes = 100, "packet size"),
        (&|config| config.listen = SocketAddr::from(([192, 0, 2, 1], 0)), "192.0.2.1"),
    ] {
        let error = check(set).expect(cause);
        assert!(error.contains(cause), "{error}");
    }
}
