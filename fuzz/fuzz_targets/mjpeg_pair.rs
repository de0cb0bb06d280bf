//! Packetizes and depacketizes frames over a network that loses, duplicates and reorders packets: each frame is delivered unchanged
//! and in order, or not at all.
#![no_main]

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg_core::{
    Depacketizer, DepacketizerConfig, Event, Jpeg, JpegHeaders, Packetizer, PacketizerConfig, QuantTable,
    QuantTables, Sampling,
};
use netdyno_rtp::{Packet, Sequence, Ssrc, Timestamp};

#[derive(Debug, Arbitrary)]
struct Settings {
    packet_bytes: u16,
    first: u16,
    computed_tables: bool,
    every: u8,
    width: u16,
    height: u16,
    max_wait_ms: u8,
}

#[derive(Debug, Arbitrary)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    /// Queued behind the waiting packets.
    Waits,
}

#[derive(Debug, Arbitrary)]
struct Picture {
    is_422: bool,
    q: u8,
    value: u16,
    scan: Vec<u8>,
    repeat: u8,
    fates: Vec<Fate>,
}

impl Picture {
    fn file(&self, width: u16, height: u16) -> Vec<u8> {
        let own = QuantTable::new([self.value.max(1); 64]).expect("no value is 0");
        let tables = QuantTables::computed(self.q).unwrap_or(QuantTables { luma: own, chroma: own });
        let sampling = if self.is_422 { Sampling::Yuv422 } else { Sampling::Yuv420 };
        let mut file = Vec::new();
        JpegHeaders { width, height, sampling, tables, restart_interval: 0 }.append(&mut file);
        file.push(0);
        for byte in self.scan.repeat(usize::from(self.repeat)) {
            file.push(byte);
            if byte == 0xff {
                file.push(0);
            }
        }
        file.extend([0xff, 0xd9]);
        file
    }
}

fuzz_target!(|input: (Settings, Vec<Picture>)| {
    let (settings, pictures) = input;
    let (width, height) = (settings.width.max(1), settings.height.max(1));
    let mut config = PacketizerConfig::default();
    config.max_packet_bytes = usize::from(settings.packet_bytes).clamp(300, 65_507);
    config.computed_tables = settings.computed_tables;
    config.static_tables_every = NonZeroU32::new(u32::from(settings.every));
    let mut packetizer = Packetizer::new(config, Ssrc(7), Sequence(settings.first)).expect("valid settings");
    let mut config = DepacketizerConfig::default();
    config.dimensions = Some((width, height));
    config.max_wait = Duration::from_millis(u64::from(settings.max_wait_ms));
    let mut depacketizer = Depacketizer::new(config).expect("valid settings");

    let (mut now, mut files, mut waiting, mut last) = (Instant::now(), Vec::new(), Vec::new(), None);
    for picture in &pictures {
        let file = picture.file(width, height);
        let jpeg = Jpeg::parse(&file).expect("a generated file");
        let frame = packetizer.packets(&jpeg, Timestamp(files.len() as u32)).expect("a small frame");
        files.push(file.clone());
        for index in 0..frame.count() {
            let mut datagram = Vec::new();
            assert!(frame.append(index, &mut datagram));
            let arriving = match picture.fates.get(index).unwrap_or(&Fate::Arrives) {
                Fate::Arrives => vec![datagram],
                Fate::Lost => vec![],
                Fate::Twice => vec![datagram.clone(), datagram],
                Fate::Waits => {
                    waiting.push(datagram);
                    if waiting.len() < 4 { vec![] } else { std::mem::take(&mut waiting) }
                }
            };
            for datagram in arriving {
                depacketizer.handle_packet(now, &Packet::parse(&datagram).expect("a generated packet"));
                poll(&mut depacketizer, now, &files, &mut last);
            }
            now += Duration::from_millis(1);
        }
    }
    depacketizer.flush();
    poll(&mut depacketizer, now, &files, &mut last);
});

fn poll(depacketizer: &mut Depacketizer, now: Instant, files: &[Vec<u8>], last: &mut Option<u32>) {
    while let Some(event) = depacketizer.poll_event(now) {
        match event {
            Event::Frame(frame) => {
                let number = frame.info().timestamp.0;
                assert_eq!(frame.jpeg(), files[number as usize]);
                assert!(*last < Some(number));
                *last = Some(number);
                depacketizer.recycle(frame);
            }
            // Packets with a long delay look like a restart.
            Event::Restarted => *last = None,
            _ => {}
        }
    }
}
