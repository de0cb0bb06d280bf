//! Runs two DTLS peers over a hostile network: no panic, at most one end, and only sent data is delivered.
#![no_main]

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_rtc_core::Certificate;
use netdyno_rtc_core::dtls::{Dtls, DtlsEvent, Role, Versions};

#[derive(Debug, Arbitrary)]
enum Step<'a> {
    /// A forged datagram.
    Bytes {
        to: bool,
        bytes: &'a [u8],
    },
    /// A forged record with a valid header.
    Record {
        to: bool,
        content: u8,
        epoch: u8,
        number: u8,
        fragment: &'a [u8],
    },
    /// A forged protected record of DTLS 1.3 with any header form, and a valid length if present.
    Unified {
        to: bool,
        flags: u8,
        number: [u8; 2],
        ciphertext: &'a [u8],
    },
    /// Delivers the oldest datagram in flight.
    Deliver {
        to: bool,
    },
    /// Delivers it with a modified byte, truncated, or followed by a copy of itself.
    Damage {
        to: bool,
        at: u16,
        xor: u8,
        cut: u16,
        again: bool,
    },
    /// Drops it.
    Lose {
        to: bool,
    },
    /// Moves it behind the next one.
    Later {
        to: bool,
    },
    Data {
        from: bool,
        length: u16,
    },
    Wait {
        ms: u16,
    },
    Close {
        from: bool,
    },
}

struct Peer {
    dtls: Dtls,
    connected: bool,
    over: bool,
    /// Datagrams in flight to this peer.
    inbox: VecDeque<Vec<u8>>,
    /// Number of sent data records.
    said: u32,
    heard: Vec<u32>,
}

/// Generated once, because it takes as long as a hundred steps.
static CERTIFICATES: LazyLock<[Arc<Certificate>; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Arc::new(Certificate::generate().unwrap())));

/// The data of a record: its number, and bytes derived from it.
fn data(number: u32, length: usize) -> Vec<u8> {
    let mut data = number.to_be_bytes().to_vec();
    data.resize(4 + length, number as u8);
    data
}

/// Checks the data of a received record.
fn hear(heard: &mut Vec<u32>, text: &[u8]) {
    let number = u32::from_be_bytes(text[..4].try_into().unwrap());
    assert_eq!(text, data(number, text.len() - 4));
    assert!(!heard.contains(&number), "a replay");
    heard.push(number);
}

/// The versions that a peer supports.
fn versions(choice: u8) -> Versions {
    match choice % 4 {
        0 => Versions::Only12,
        1 => Versions::Only13,
        _ => Versions::Both,
    }
}

impl Peer {
    fn new(index: usize, versions: Versions, now: Instant) -> Self {
        let role = if index == 0 { Role::Client } else { Role::Server };
        let expected = *CERTIFICATES[1 - index].fingerprint();
        let dtls = Dtls::new(&CERTIFICATES[index], versions, role, expected, now).unwrap();
        Self { dtls, connected: false, over: false, inbox: VecDeque::new(), said: 0, heard: Vec::new() }
    }

    fn receive(&mut self, now: Instant, mut datagram: Vec<u8>) {
        let heard = &mut self.heard;
        self.dtls.handle_datagram(now, &mut datagram, &mut |text| hear(heard, text));
    }

    fn timeout(&mut self, now: Instant) {
        let heard = &mut self.heard;
        self.dtls.handle_timeout(now, &mut |text| hear(heard, text));
    }

    fn poll(&mut self, other: &mut Peer) {
        let mut out = [0; 2048];
        while let Some(length) = self.dtls.poll_transmit(&mut out) {
            assert!(length > 0);
            other.inbox.push_back(out[..length].to_vec());
        }
        while let Some(event) = self.dtls.poll_event() {
            assert!(!self.over, "{event:?} after the end");
            match event {
                DtlsEvent::Connected => assert!(!std::mem::replace(&mut self.connected, true)),
                DtlsEvent::Closed | DtlsEvent::Failed(_) => self.over = true,
            }
        }
        assert!(self.connected || self.heard.is_empty());
        assert!(self.heard.iter().all(|&number| number < other.said), "never sent");
        assert!(!(self.over && self.dtls.is_connected()));
    }
}

fuzz_target!(|input: ([u8; 2], Vec<Step<'_>>)| {
    let ([a, b], steps) = input;
    let mut now = Instant::now();
    let mut peers = [Peer::new(0, versions(a), now), Peer::new(1, versions(b), now)];
    for step in steps {
        step_of(&mut peers, &mut now, &step);
        let [a, b] = &mut peers;
        a.poll(b);
        b.poll(a);
    }
});

fn step_of(peers: &mut [Peer; 2], now: &mut Instant, step: &Step<'_>) {
    match *step {
        Step::Bytes { to, bytes } => peers[usize::from(to)].receive(*now, bytes.to_vec()),
        Step::Record { to, content, epoch, number, fragment } => {
            let length = fragment.len().min(65_000);
            let mut record = vec![content, 254, 253, 0, epoch, 0, 0, 0, 0, 0, number];
            record.extend((length as u16).to_be_bytes());
            record.extend(&fragment[..length]);
            peers[usize::from(to)].receive(*now, record);
        }
        Step::Unified { to, flags, number, ciphertext } => {
            let length = ciphertext.len().min(65_000);
            let mut record = vec![0x20 | flags & 0x1F];
            record.extend(&number[..if flags & 8 != 0 { 2 } else { 1 }]);
            if flags & 4 != 0 {
                record.extend((length as u16).to_be_bytes());
            }
            record.extend(&ciphertext[..length]);
            peers[usize::from(to)].receive(*now, record);
        }
        Step::Deliver { to } => {
            let peer = &mut peers[usize::from(to)];
            if let Some(datagram) = peer.inbox.pop_front() {
                peer.receive(*now, datagram);
            }
        }
        Step::Damage { to, at, xor, cut, again } => {
            let peer = &mut peers[usize::from(to)];
            let Some(mut datagram) = peer.inbox.pop_front() else { return };
            let at = usize::from(at) % datagram.len();
            datagram[at] ^= xor;
            datagram.truncate(datagram.len() - usize::from(cut) % datagram.len());
            if again {
                peer.receive(*now, datagram.clone());
            }
            peer.receive(*now, datagram);
        }
        Step::Lose { to } => drop(peers[usize::from(to)].inbox.pop_front()),
        Step::Later { to } => {
            if !peers[usize::from(to)].inbox.is_empty() {
                peers[usize::from(to)].inbox.rotate_left(1);
            }
        }
        Step::Data { from, length } => {
            let [a, b] = peers;
            let (from, to) = if from { (b, a) } else { (a, b) };
            let text = data(from.said, usize::from(length) % 2000);
            let (before, overhead) = (from.dtls.headroom(), from.dtls.overhead());
            let mut buffer = vec![0; text.len() + overhead];
            buffer[before..before + text.len()].copy_from_slice(&text);
            let length = from.dtls.seal(&mut buffer, text.len());
            assert_eq!(length > 0, from.dtls.can_seal());
            if length > 0 {
                assert_eq!(length, buffer.len());
                from.said += 1;
                to.inbox.push_back(buffer);
            }
        }
        Step::Wait { ms } => {
            *now += Duration::from_millis(u64::from(ms));
            peers.iter_mut().for_each(|peer| peer.timeout(*now));
        }
        Step::Close { from } => peers[usize::from(from)].dtls.close(),
    }
}
