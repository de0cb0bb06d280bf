//! The same tests for both kernel interfaces: every byte arrives with any socket buffer, and closed connections are reported.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};

use super::*;

const SIZE: Size = Size { connections: 100, receive_bytes: 1000 };

/// Returns received bytes twice, and reports closed connections through the channel.
struct Twice {
    /// The data to send on each connection, and the length of the part that was sent.
    echoes: Vec<(Vec<u8>, usize)>,
    lent: &'static [u8],
    closed: Sender<usize>,
}

impl Service for Twice {
    fn turn(&mut self, _: &mut Vec<usize>) -> Wait {
        Wait::Long
    }

    fn received(&mut self, number: usize, bytes: &[u8], _: u64) -> Result<bool, String> {
        for _ in 0..2 {
            self.echoes[number].0.extend_from_slice(bytes);
        }
        Ok(true)
    }

    fn write(&mut self, number: usize, out: &mut Outbox) {
        // Many short pieces.
        let (echo, sent) = &self.echoes[number];
        for piece in echo[*sent..].chunks(1000) {
            if !out.has_room(piece.len()) {
                return;
            }
            out.space(piece.len()).copy_from_slice(piece);
            out.lend(self.lent);
        }
    }

    fn sent(&mut self, number: usize, bytes: usize) {
        self.echoes[number].1 += bytes;
    }

    fn unsent(&self, number: usize) -> bool {
        self.echoes[number].1 < self.echoes[number].0.len()
    }

    fn opened(&mut self, number: usize) -> Result<(), String> {
        assert_eq!(number, self.echoes.len());
        self.echoes.push((Vec::new(), 0));
        Ok(())
    }

    fn closed(&mut self, number: usize, _: &str) -> Result<(), String> {
        // A finished test has dropped the receiver.
        let _ = self.closed.send(number);
        Ok(())
    }
}

fn serve(kind: Kind) -> (SocketAddr, std::sync::mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, closed) = channel();
    std::thread::spawn(move || {
        let mut service = Twice { echoes: Vec::new(), lent: b"", closed: sender };
        let Err(error) = run(kind, &mut service, Vec::new(), Some(listener), SIZE);
        panic!("{error}");
    });
    (address, closed)
}

#[test]
fn every_byte_is_echoed_to_a_slow_reader() {
    for kind in Kind::supported().iter().copied() {
        let (address, closed) = serve(kind);
        // More than any socket buffer, so that sends are partial.
        let message: Vec<u8> = (0..4_000_000u32).map(|i| (i / 7) as u8).collect();
        let mut writer = TcpStream::connect(address).unwrap();
        let mut reader = writer.try_clone().unwrap();
        let sent = message.clone();
        let writing = std::thread::spawn(move || writer.write_all(&sent));
        writing.join().unwrap().unwrap();
        let mut echo = vec![0; 2 * message.len()];
        reader.read_exact(&mut echo).unwrap();
        let counts = |bytes: &[u8]| {
            bytes.iter().fold([0u64; 256], |mut counts, byte| {
                counts[usize::from(*byte)] += 1;
                counts
            })
        };
        assert_eq!(counts(&echo), counts(&message).map(|count| 2 * count), "{kind:?}");
        assert_eq!(echo[0], message[0]);
        drop(reader);
        assert_eq!(closed.recv().unwrap(), 0);
    }
}

#[test]
fn many_connections_at_once() {
    for kind in Kind::supported().iter().copied() {
        let (address, closed) = serve(kind);
        let mut links: Vec<_> = (0..500).map(|_| TcpStream::connect(address).unwrap()).collect();
        for round in 0..3u8 {
            for (number, link) in links.iter_mut().enumerate() {
                link.write_all(&[number as u8, round]).unwrap();
            }
            for (number, link) in links.iter_mut().enumerate() {
                let mut echo = [0; 4];
                link.read_exact(&mut echo).unwrap();
                assert_eq!(echo, [number as u8, round, number as u8, round], "{kind:?}");
            }
        }
        drop(links);
        let mut gone: Vec<usize> = (0..500).map(|_| closed.recv().unwrap()).collect();
        gone.sort_unstable();
        assert_eq!(gone, (0..500).collect::<Vec<_>>());
    }
}

#[test]
fn a_wait_ends_when_it_is_due() {
    struct Alarm(u32);
    impl Service for Alarm {
        fn turn(&mut self, _: &mut Vec<usize>) -> Wait {
            self.0 += 1;
            [Wait::Not, Wait::UntilNs(crate::now_ns() + 100_000)][self.0 as usize % 2]
        }
        fn received(&mut self, _: usize, _: &[u8], _: u64) -> Result<bool, String> {
            Err(format!("{} turns", self.0))
        }
        fn write(&mut self, _: usize, _: &mut Outbox) {}
        fn sent(&mut self, _: usize, _: usize) {}
        fn unsent(&self, _: usize) -> bool {
            false
        }
        fn opened(&mut self, _: usize) -> Result<(), String> {
            Ok(())
        }
        fn closed(&mut self, _: usize, _: &str) -> Result<(), String> {
            Ok(())
        }
    }
    for kind in Kind::supported().iter().copied() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let there = listener.accept().unwrap().0;
        let teller = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            here.write_all(b"x").unwrap();
            here
        });
        let Err(error) = run(kind, &mut Alarm(0), vec![there], None, SIZE);
        let turns: u32 = error.split(' ').next().unwrap().parse().unwrap();
        assert!(turns > 2, "{kind:?}: {error}");
        drop(teller.join());
    }
}
