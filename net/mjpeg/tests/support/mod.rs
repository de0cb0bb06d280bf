//! Test pictures and receiver threads.
#![allow(dead_code, unreachable_pub)]

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use netdyno_mjpeg::core::{Event, Frame, LostReason};
use netdyno_mjpeg::{Receiver, ReceiverConfig, ReceiverStats};

/// A deterministic JPEG file with gradients and noise.
pub fn picture(
    width: u16,
    height: u16,
    seed: u32,
    sampling: SamplingFactor,
    restart: Option<u16>,
) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut pixels = Vec::new();
    for y in 0..u32::from(height) {
        for x in 0..u32::from(width) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let noise = if (x / 64 + y / 64) % 4 == 0 { (state >> 16) % 32 } else { 0 };
            pixels.extend([(x + noise) as u8, (y + seed * 3) as u8, (x + y + noise) as u8]);
        }
    }
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 85);
    encoder.set_sampling_factor(sampling);
    if let Some(interval) = restart {
        encoder.set_restart_interval(interval);
    }
    encoder.encode(&pixels, width, height, ColorType::Rgb).unwrap();
    file
}

/// A 4:2:0 picture without restart markers.
pub fn plain(width: u16, height: u16, seed: u32) -> Vec<u8> {
    picture(width, height, seed, SamplingFactor::R_4_2_0, None)
}

/// The result of a receiver thread.
pub struct Received {
    pub frames: Vec<Frame>,
    pub lost: Vec<LostReason>,
    pub stats: ReceiverStats,
}

/// Receives until BYE, for at most a minute.
pub fn receive(listen: &str, set: impl FnOnce(&mut ReceiverConfig)) -> (SocketAddr, JoinHandle<Received>) {
    let mut config = ReceiverConfig::default();
    config.depacketizer.max_wait = Duration::from_millis(200);
    set(&mut config);
    let mut receiver = Receiver::open(listen.parse().unwrap(), &config).unwrap();
    let address = receiver.local_address();
    let run = move || {
        let (mut frames, mut lost) = (Vec::new(), Vec::new());
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            match receiver.next(Instant::now() + Duration::from_millis(50)).unwrap() {
                Some(Event::Frame(frame)) => frames.push(frame),
                Some(Event::Lost(event)) => lost.push(event.reason),
                Some(_) => {}
                None if receiver.has_ended() => break,
                None => {}
            }
        }
        Received { frames, lost, stats: receiver.stats() }
    };
    (address, std::thread::spawn(run))
}
