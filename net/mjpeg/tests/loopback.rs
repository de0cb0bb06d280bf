//! Senders and receivers over loopback.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use jpeg_encoder::SamplingFactor;
use netdyno_io::{MAX_SEGMENTS, ReceiveBatch, SocketOptions};
use netdyno_mjpeg::core::{Jpeg, JpegError, LostReason, Packetizer, PacketizerConfig, Unsupported};
use netdyno_mjpeg::rtp::rtcp::{Compound, CompoundWriter, ReportBlock, RtcpPacket, Rule};
use netdyno_mjpeg::rtp::{Packet, Sequence, Ssrc, Timestamp};
use netdyno_mjpeg::source::Files;
use netdyno_mjpeg::{
    Interface, OpenError, PictureError, Receiver, ReceiverConfig, Sender, SenderConfig, Step, Stream,
};
use rustix::time::{ClockId, clock_gettime};
use support::{picture, plain, receive};

const SPREAD: Duration = Duration::from_millis(10);

fn send_all(sender: &mut Sender, pictures: &[Vec<u8>]) {
    for picture in pictures {
        sender.send(picture, Instant::now(), SPREAD).unwrap();
    }
}

#[test]
fn frames_arrive_unchanged() {
    for (packet_bytes, statics) in [(1400, None), (600, NonZeroU32::new(2)), (9000, None), (300, None)] {
        let (address, receiver) = receive("127.0.0.1:0", |_| {});
        assert_eq!(address.port() % 2, 0);
        let mut config = SenderConfig::default();
        config.packetizer.max_packet_bytes = packet_bytes;
        config.packetizer.static_tables_every = statics;
        let mut sender = Sender::open(address, &config).unwrap();
        let pictures = [
            plain(640, 480, 1),
            plain(320, 240, 2),
            picture(640, 480, 3, SamplingFactor::R_4_2_2, None),
            picture(640, 480, 4, SamplingFactor::R_4_2_0, Some(8)),
            plain(1920, 1080, 5),
        ];
        send_all(&mut sender, &pictures);
        let stats = sender.stats();
        drop(sender);
        let had = receiver.join().unwrap();
        assert_eq!(had.lost, []);
        assert_eq!(had.frames.len(), pictures.len());
        for (frame, picture) in had.frames.iter().zip(&pictures) {
            let (ours, theirs) = (Jpeg::parse(frame.jpeg()).unwrap(), Jpeg::parse(picture).unwrap());
            assert_eq!((ours.width(), ours.sampling()), (theirs.width(), theirs.sampling()));
            assert_eq!(
                (ours.tables(), ours.restart_interval()),
                (theirs.tables(), theirs.restart_interval())
            );
            assert!(ours.scan() == theirs.scan(), "the data are the same");
        }
        assert_eq!((stats.frames, stats.send_errors, stats.unsent_packets), (5, 0, 0));
        assert_eq!((stats.packets, stats.packet_bytes), (had.stats.frames.packets, had.stats.packet_bytes));
    }
}

/// Without pacing, each system call sends the maximum number of packets.
#[test]
fn picture_needs_the_minimum_number_of_system_calls() {
    let here =
        netdyno_io::UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap();
    let mut sender = Sender::open(here.local_address(), &SenderConfig::default()).unwrap();
    let sent = sender.send(&plain(1920, 1080, 5), Instant::now(), Duration::ZERO).unwrap();
    assert!(sent.packets > MAX_SEGMENTS, "{sent:?}");
    let (mut batch, mut runs) = (ReceiveBatch::default(), Vec::new());
    let begin = Instant::now();
    while runs.iter().sum::<usize>() < sent.packets {
        assert!(begin.elapsed() < Duration::from_secs(60), "{runs:?}");
        here.receive(&mut batch).unwrap();
        // The packets of one call are received together.
        runs.extend(batch.iter().map(|received| received.datagrams.len().div_ceil(received.segment_bytes)));
    }
    // 46 packets of 1,400 bytes are 64,400 bytes.
    assert_eq!(runs.len(), sent.packets.div_ceil(46), "{runs:?}");
}

#[test]
fn dimensions_beyond_the_header_come_from_sdp() {
    let picture = plain(2100, 500, 1);
    let mut pictures = Vec::new();
    for dimensions in [Some((2100, 500)), None] {
        let (address, receiver) =
            receive("127.0.0.1:0", |config| config.depacketizer.dimensions = dimensions);
        let mut sender = Sender::open(address, &SenderConfig::default()).unwrap();
        let sent = sender.send(&picture, Instant::now(), SPREAD).unwrap();
        assert_eq!((sent.width, sent.height), (2100, 500));
        drop(sender);
        pictures.push(receiver.join().unwrap());
    }
    let headers = pictures[0].frames[0].info().headers;
    assert_eq!((headers.width, headers.height), (2100, 500));
    assert_eq!((pictures[1].frames.len(), &pictures[1].lost[..]), (0, &[LostReason::Dimensions][..]));
}

/// Packets are spread over the frame interval, and frames arrive at their rate.
#[test]
fn packets_are_paced() {
    const FRAMES: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clip.mjpeg");
    // Frames of various lengths.
    let clip = [plain(1280, 720, 1), plain(1920, 1080, 2), plain(1600, 900, 3)].concat();
    std::fs::write(&file, clip).unwrap();
    let (address, receiver) = receive("127.0.0.1:0", |_| {});
    let sender = Sender::open(address, &SenderConfig::default()).unwrap();
    let mut stream = Stream::new(sender, Box::new(Files::open(&[file], true).unwrap()), Some(50.0));
    let (begin, mut sent) = (Instant::now(), 0);
    while sent < FRAMES {
        match stream.step().unwrap() {
            Step::Sent(_) => sent += 1,
            step => panic!("{step:?}"),
        }
    }
    let elapsed = begin.elapsed();
    #[cfg(target_os = "linux")]
    assert_eq!(rustix::thread::current_timer_slack(), Ok(1), "waits are exact");
    // The packets of the last frame span 0.8 of its 20 ms.
    let least = Duration::from_millis(20 * FRAMES as u64 - 20 + 15);
    assert!(elapsed >= least && elapsed < least * 2, "{elapsed:?}");
    drop(stream);
    let had = receiver.join().unwrap();
    assert_eq!((had.frames.len(), had.lost.len()), (FRAMES, 0));
    let mut spreads: Vec<_> =
        had.frames.iter().map(|f| f.info().last_arrived - f.info().first_arrived).collect();
    let mut intervals: Vec<_> =
        had.frames.windows(2).map(|two| two[1].info().last_arrived - two[0].info().last_arrived).collect();
    spreads.sort_unstable();
    intervals.sort_unstable();
    // Medians tolerate other load.
    let (spread, interval) = (spreads[FRAMES / 2], intervals[FRAMES / 2]);
    assert!(spread >= Duration::from_millis(12) && spread <= Duration::from_millis(20), "{spread:?}");
    assert!(interval.abs_diff(Duration::from_millis(20)) < Duration::from_millis(2), "{interval:?}");
    // Timestamps follow the frame rate exactly.
    let steps = had.frames.windows(2).map(|two| two[1].info().timestamp.since(two[0].info().timestamp));
    assert!(steps.filter(|step| *step == 1800).count() >= FRAMES * 9 / 10);
}

#[test]
fn losses_are_reported_and_other_frames_arrive() {
    let (address, receiver) = receive("127.0.0.1:0", |_| {});
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut packetizer = Packetizer::new(PacketizerConfig::default(), Ssrc(9), Sequence(65_530)).unwrap();
    let file = plain(640, 480, 1);
    let jpeg = Jpeg::parse(&file).unwrap();
    for number in 0..5u32 {
        let frame = packetizer.packets(&jpeg, Timestamp(number * 3000)).unwrap();
        for index in 0..frame.count() {
            let mut datagram = Vec::new();
            frame.append(index, &mut datagram);
            // A middle packet and a last one are lost; the packets of one frame are reordered.
            let index = if number == 2 { index ^ 1 } else { index };
            if index < frame.count() && (number, index) != (1, 3) && (number, index + 1) != (3, frame.count())
            {
                datagram.clear();
                frame.append(index, &mut datagram);
                socket.send_to(&datagram, address).unwrap();
            }
        }
    }
    let mut goodbye = [0; 100];
    let mut writer = CompoundWriter::new(&mut goodbye);
    writer.receiver_report(Ssrc(9), &[]);
    writer.bye(&[Ssrc(9)], None);
    let bytes = writer.finish();
    // On the RTP port (RFC 5761).
    socket.send_to(b"neither", address).unwrap();
    socket.send_to(&goodbye[..bytes], address).unwrap();
    let had = receiver.join().unwrap();
    assert_eq!((had.frames.len(), had.lost.len()), (3, 2), "{:?}", had.lost);
    assert!(had.frames.iter().all(|frame| frame.scan() == jpeg.scan()));
    assert_eq!((had.stats.frames.missing_packets, had.stats.foreign_datagrams), (2, 1));
}

#[test]
fn reports_are_exchanged() {
    exchange_reports(false);
}

#[test]
fn reports_are_exchanged_on_one_port() {
    exchange_reports(true);
}

fn exchange_reports(is_muxed: bool) {
    let (address, receiver) = receive("127.0.0.1:0", |_| {});
    let mut config = SenderConfig::default();
    config.rtcp_mux = is_muxed;
    let mut sender = Sender::open(address, &config).unwrap();
    let file = plain(320, 240, 1);
    let begin = Instant::now();
    // The first reports are due after 1 to 4 s (RFC 3550 section 6.3.1). The receiver's report refers to the sender's.
    while sender.stats().last_report.is_none_or(|report| report.round_trip.is_none()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", sender.stats());
        sender.send(&file, Instant::now(), SPREAD).unwrap();
        sender.wait(Instant::now() + Duration::from_millis(20));
    }
    let stats = sender.stats();
    let report = stats.last_report.unwrap();
    assert_eq!((stats.receivers, report.block.ssrc, report.block.cumulative_lost), (1, sender.ssrc(), 0));
    assert!(report.round_trip.unwrap() < Duration::from_secs(1));
    assert_eq!(report.from.port(), address.port() + u16::from(!is_muxed));
    drop(sender);
    let had = receiver.join().unwrap();
    assert!(had.stats.reception.unwrap().received > 0 && had.lost.is_empty());
}

/// Without an address for reports, the receiver sleeps.
#[test]
fn receiver_sleeps_without_sender_reports() {
    let mut receiver = Receiver::open("127.0.0.1:0".parse().unwrap(), &ReceiverConfig::default()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut packetizer = Packetizer::new(PacketizerConfig::default(), Ssrc(9), Sequence(1)).unwrap();
    let file = plain(320, 240, 1);
    let mut datagram = Vec::new();
    packetizer.packets(&Jpeg::parse(&file).unwrap(), Timestamp(0)).unwrap().append(0, &mut datagram);
    socket.send_to(&datagram, receiver.local_address()).unwrap();
    let cpu = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let before = cpu();
    // The first report would be due within 3.1 s.
    assert_eq!(receiver.next(Instant::now() + Duration::from_millis(3_500)).unwrap(), None);
    assert_eq!(receiver.stats().frames.packets, 1);
    let spent = cpu() - before;
    assert!(spent < Duration::from_millis(200), "{spent:?}");
}

/// A sender sends reports and BYE, and handles reports of receivers.
#[test]
fn sender_sends_reports_and_bye() {
    check_sender_reports(false);
}

/// The same with RTCP multiplexing (RFC 5761).
#[test]
fn sender_sends_reports_and_bye_on_one_port() {
    check_sender_reports(true);
}

fn check_sender_reports(is_muxed: bool) {
    let (rtp, mut rtcp) = ports();
    let mut config = SenderConfig::default();
    config.rtcp_mux = is_muxed;
    let mut sender = Sender::open(rtp.local_addr().unwrap(), &config).unwrap();
    let file = plain(320, 240, 1);
    let jpeg = Jpeg::parse(&file).unwrap();
    sender.send(&file, Instant::now(), Duration::ZERO).unwrap();
    let from_rtp = rtp.peek_from(&mut [0; 1500]).unwrap().1;
    drop_later(&rtp);
    if is_muxed {
        rtcp = rtp;
    }
    let cname = sender.cname().to_owned();
    rtcp.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut buffer = [0; 1500];
    let begin = Instant::now();
    let (bytes, from) = loop {
        assert!(begin.elapsed() < Duration::from_secs(60));
        sender.wait(Instant::now() + Duration::from_millis(20));
        if let Ok(got) = rtcp.recv_from(&mut buffer) {
            break got;
        }
    };
    assert_eq!(from == from_rtp, is_muxed, "{from} {from_rtp}");
    let ssrc = sender.ssrc();
    let packets: Vec<_> = Compound::parse(&buffer[..bytes], Rule::Compound).unwrap().packets().collect();
    let RtcpPacket::SenderReport(report) = packets[0] else { panic!("{packets:?}") };
    assert_eq!((report.info.ssrc, u64::from(report.info.packets)), (ssrc, sender.stats().packets));
    let headers = sender.stats().packets * 12;
    assert_eq!(u64::from(report.info.octets), sender.stats().packet_bytes - headers);
    assert!(u64::from(report.info.octets) > jpeg.scan().len() as u64);
    let RtcpPacket::Sdes(sdes) = packets[1] else { panic!("{packets:?}") };
    assert_eq!(sdes.chunks().next().unwrap().items.next().unwrap().text, cname.as_bytes());
    assert_eq!(packets.len(), 2);

    // A report on another stream, one on this stream, and an invalid datagram.
    let block = |ssrc, lost| ReportBlock {
        ssrc,
        fraction_lost: 128,
        cumulative_lost: lost,
        ..ReportBlock::default()
    };
    let mut writer = CompoundWriter::new(&mut buffer);
    writer.receiver_report(Ssrc(1), &[block(Ssrc(5), 1), block(ssrc, 77)]);
    let bytes = writer.finish();
    rtcp.send_to(&buffer[..bytes], from).unwrap();
    rtcp.send_to(b"hello", from).unwrap();
    sender.wait(Instant::now() + Duration::from_millis(20));
    let heard = sender.stats();
    let report = heard.last_report.unwrap();
    assert_eq!((report.block.cumulative_lost, heard.receivers, report.round_trip), (77, 1, None));

    drop(sender);
    let begin = Instant::now();
    let (bytes, _) = loop {
        assert!(begin.elapsed() < Duration::from_secs(60));
        if let Ok(got) = rtcp.recv_from(&mut buffer) {
            break got;
        }
    };
    let last = Compound::parse(&buffer[..bytes], Rule::Compound).unwrap().packets().last();
    let Some(RtcpPacket::Bye(mut bye)) = last else { panic!("{last:?}") };
    assert_eq!(bye.sources.next(), Some(ssrc));
}

#[test]
fn invalid_multiplexing_is_rejected() {
    let mut config = SenderConfig::default();
    config.rtcp_mux = true;
    let group = Sender::open("239.255.77.26:5004".parse().unwrap(), &config).unwrap_err();
    assert!(matches!(group, OpenError::MuxedGroup(_)), "{group}");
    for (payload_type, fits) in [(63, true), (64, false), (95, false), (96, true)] {
        config.packetizer.payload_type = payload_type;
        let sender = Sender::open("127.0.0.1:9".parse().unwrap(), &config);
        assert_eq!(sender.is_ok(), fits, "{payload_type}");
    }
}

#[test]
fn receiver_is_optional() {
    let (rtp, rtcp) = ports();
    let address = rtp.local_addr().unwrap();
    drop((rtp, rtcp));
    let mut sender = Sender::open(address, &SenderConfig::default()).unwrap();
    for number in 0..5 {
        sender.send(&plain(320, 240, number), Instant::now(), SPREAD).unwrap();
        sender.wait(Instant::now() + Duration::from_millis(5));
    }
    assert_eq!((sender.stats().frames, sender.stats().send_errors), (5, 0));
}

#[test]
fn unsupported_picture_is_rejected_and_the_next_is_sent() {
    let (rtp, _rtcp) = ports();
    let mut sender = Sender::open(rtp.local_addr().unwrap(), &SenderConfig::default()).unwrap();
    let wrong = picture(320, 240, 1, SamplingFactor::R_4_4_4, None);
    let error = sender.send(&wrong, Instant::now(), SPREAD).unwrap_err();
    assert!(matches!(error, PictureError::Jpeg(JpegError::Unsupported(Unsupported::Sampling(_)))), "{error}");
    assert!(sender.send(b"no picture", Instant::now(), SPREAD).is_err());
    let sent = sender.send(&plain(320, 240, 1), Instant::now(), SPREAD).unwrap();
    assert_eq!(sender.stats().packets, sent.packets as u64);
    let mut first = [0; 1500];
    let bytes = rtp.recv(&mut first).unwrap();
    assert_eq!(Packet::parse(&first[..bytes]).unwrap().header.ssrc, sender.ssrc());
}

#[test]
fn multicast_reaches_several_receivers() {
    let lo = Interface::find("lo").unwrap();
    let address = "239.255.77.26:0";
    let (address, first) = receive(address, |config| config.interface = Some(lo.clone()));
    let (_, second) = receive(&address.to_string(), |config| config.interface = Some(lo.clone()));
    let mut config = SenderConfig::default();
    config.interface = Some(lo);
    config.local = Some("127.0.0.1".parse().unwrap());
    let mut sender = Sender::open(address, &config).unwrap();
    let pictures = [plain(640, 480, 1), plain(640, 480, 2)];
    send_all(&mut sender, &pictures);
    drop(sender);
    for receiver in [first, second] {
        let had = receiver.join().unwrap();
        assert_eq!((had.frames.len(), had.lost.len()), (2, 0));
    }
}

/// Plain sockets for RTP and RTCP.
fn ports() -> (UdpSocket, UdpSocket) {
    for _ in 0..100 {
        let rtp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = rtp.local_addr().unwrap().port();
        if let Ok(rtcp) = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], port.wrapping_add(1)))) {
            return (rtp, rtcp);
        }
    }
    panic!("no two ports side by side");
}

/// Discards received datagrams.
fn drop_later(socket: &UdpSocket) {
    socket.set_nonblocking(true).unwrap();
    let mut buffer = [0; 1500];
    while socket.recv(&mut buffer).is_ok() {}
}
