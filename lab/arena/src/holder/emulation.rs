//! A link with delay, loss and a rate: the holder relays packets between two TUN devices. It replaces the kernel's
//! netem, which not every kernel has, and needs only the privileges of a private namespace.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Link, Refusal};
use crate::limits::LINK_QUEUE;
use crate::sys;

const MAX_PACKET_BYTES: usize = 65_535;
/// Most bytes in transit per direction: 5 s at 100 Mbit/s. Further packets are dropped, as in a full queue.
const MAX_BYTES_UNDER_WAY: usize = 64 << 20;
/// Packets read from one side before the other side's turn.
const READS_A_TURN: usize = 64;

pub(super) fn device(name: &str) -> Result<File, Refusal> {
    sys::tun(name).map_err(|error| {
        let reason = format!("a TUN device for delay and loss, /dev/net/tun: {error}");
        match error.raw_os_error().map(Errno::from_raw) {
            // No file, no driver, or a container that denies access.
            Some(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO | Errno::EACCES | Errno::EPERM) => {
                Refusal::Missing(format!(
                    "{reason}; run `modprobe tun`, or give the container or this user access to it"
                ))
            }
            _ => Refusal::Failed(reason),
        }
    })
}

/// Relays packets between the devices until `until` is readable. The seed determines which packets are lost.
pub(super) fn carry(devices: &[File; 2], link: &Link, seed: u64, until: BorrowedFd<'_>) -> io::Result<()> {
    let [first, second] = devices;
    let mut ways = [Way::new(first, second, seed), Way::new(second, first, !seed)];
    let mut buffer = [0; MAX_PACKET_BYTES];
    loop {
        for way in &mut ways {
            way.take(link, &mut buffer)?;
            way.give(Instant::now());
        }
        let due = ways.iter().filter_map(|way| way.under_way.front()).map(|packet| packet.due).min();
        let wait = due.map(|due| TimeSpec::from_duration(due.saturating_duration_since(Instant::now())));
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = [readable(first.as_fd()), readable(second.as_fd()), readable(until)];
        match ppoll(&mut fds, wait, None) {
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
            Ok(_) if fds[2].any().unwrap_or(true) => break,
            Ok(_) => {}
        }
    }
    // Drops by the lab itself must be visible to the reader of the figures.
    let without_room: u64 = ways.iter().map(|way| way.without_room).sum();
    if without_room > 0 {
        let most = MAX_BYTES_UNDER_WAY >> 20;
        // A closed stderr is not an error.
        let _ = writeln!(
            io::stderr(),
            "netdyno: the link lost {without_room} packets beyond its loss: over {most} MiB were in flight"
        );
    }
    Ok(())
}

struct Way<'a> {
    from: &'a File,
    to: &'a File,
    /// Independent for each direction: losses do not depend on how the directions interleave.
    random: Pcg64Mcg,
    under_way: VecDeque<Packet>,
    bytes: usize,
    /// When a rate-limited link has sent everything.
    free_at: Instant,
    /// Packets dropped because too many bytes were in transit.
    without_room: u64,
}

struct Packet {
    due: Instant,
    bytes: Box<[u8]>,
}

impl<'a> Way<'a> {
    fn new(from: &'a File, to: &'a File, seed: u64) -> Self {
        Self {
            from,
            to,
            random: Pcg64Mcg::seed_from_u64(seed),
            under_way: VecDeque::new(),
            bytes: 0,
            free_at: Instant::now(),
            without_room: 0,
        }
    }

    /// Reads the packets that were sent, and drops some.
    fn take(&mut self, link: &Link, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READS_A_TURN {
            let length = match self.from.read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // The clock is read after the packet, so that no packet is early, however late it is read.
            let Some(sent_at) = self.sent_at(link, length, Instant::now()) else { continue };
            if self.random.random_range(0..1_000_000) < link.loss_ppm {
                continue;
            }
            if self.bytes + length > MAX_BYTES_UNDER_WAY {
                self.without_room += 1;
                continue;
            }
            self.bytes += length;
            self.under_way.push_back(Packet { due: sent_at + link.delay, bytes: buffer[..length].into() });
        }
        Ok(())
    }

    /// The time at which a packet leaves the rate-limited link; none if the queue is full.
    fn sent_at(&mut self, link: &Link, length: usize, now: Instant) -> Option<Instant> {
        let Some(bits_per_s) = link.rate_bits_per_s else { return Some(now) };
        let begins = self.free_at.max(now);
        if begins - now > link.queue.unwrap_or(LINK_QUEUE) {
            return None;
        }
        self.free_at = begins + Duration::from_nanos(8_000_000_000 * length as u64 / bits_per_s);
        Some(self.free_at)
    }

    /// Delivers the due packets. Packets that the device rejects are lost.
    fn give(&mut self, now: Instant) {
        while let Some(packet) = self.under_way.pop_front_if(|packet| packet.due <= now) {
            self.bytes -= packet.bytes.len();
            let _ = self.to.write(&packet.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// Whether each of `packets` packets is lost with this seed.
    fn lost(seed: u64, loss_ppm: u32, packets: usize) -> Vec<bool> {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let from = File::from(OwnedFd::from(here));
        let link = Link { loss_ppm, ..Link::default() };
        let mut way = Way::new(&from, &from, seed);
        let lost = |_| {
            there.send(&[0]).unwrap();
            way.take(&link, &mut [0; 10]).unwrap();
            way.under_way.pop_front().is_none()
        };
        (0..packets).map(lost).collect()
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let from = File::from(OwnedFd::from(here));
        let mut way = Way::new(&from, &from, 0);
        way.bytes = MAX_BYTES_UNDER_WAY - 3;
        for _ in 0..3 {
            there.send(&[0; 2]).unwrap();
        }
        way.take(&Link::default(), &mut [0; 10]).unwrap();
        assert_eq!((way.under_way.len(), way.without_room), (1, 2));
    }

    #[test]
    fn a_rate_makes_packets_wait_and_its_queue_has_an_end() {
        // A packet of 1,000 bytes takes 1 ms; the queue holds four in addition to the one being sent.
        let link = Link {
            rate_bits_per_s: Some(8_000_000),
            queue: Some(Duration::from_millis(4)),
            ..Link::default()
        };
        let file = File::open("/dev/null").unwrap();
        let mut way = Way::new(&file, &file, 0);
        let now = way.free_at;
        let mut sent_at = |after_ms| {
            let now = now + Duration::from_millis(after_ms);
            way.sent_at(&link, 1000, now).map(|at| (at - now).as_millis())
        };
        let at_once: Vec<_> = (0..6).map(|_| sent_at(0)).collect();
        assert_eq!(at_once, [Some(1), Some(2), Some(3), Some(4), Some(5), None]);
        assert_eq!([sent_at(1), sent_at(1)], [Some(5), None]);
        assert_eq!(sent_at(100), Some(1));
    }

    #[test]
    fn the_seed_says_what_is_lost_and_each_way_has_its_own_chance() {
        let lost = |seed| lost(seed, 300_000, 200);
        assert_eq!(lost(1), lost(1));
        for (one, other) in [(1, 2), (1, !1), (0, !0)] {
            assert_ne!(lost(one), lost(other), "{one} {other}");
        }
    }

    #[test]
    fn as_many_are_lost_as_asked_for() {
        // One in ten of 2,000: 200, plus or minus four standard deviations of 13. The seeds are fixed, and so is the
        // outcome.
        for seed in 0..20 {
            let count = lost(seed, 100_000, 2_000).into_iter().filter(|lost| *lost).count();
            assert!((147..=253).contains(&count), "seed {seed}: {count} lost");
        }
        assert!(!lost(0, 0, 2_000).contains(&true));
    }
}
