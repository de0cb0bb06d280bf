//! The promises that every core keeps, whatever its protocol.
//!
//! 1. When `poll_transmit` has said that there is nothing more, nothing more comes without input or time.
//! 2. No turn sends without end.
//! 3. `next_deadline` is never in the past once `handle_timeout` was called: nobody spins.
//! 4. `handle_timeout` before the deadline changes nothing.
//! 5. Any order of calls is legal: see [`disturb`].

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rand::{Rng, RngExt};

use crate::core::{Core, Outgoing};
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::random::Random;

/// Calls of `poll_transmit` in one turn at the most.
const POLLS_PER_TURN_MAX: usize = 100_000;
/// Calls of `handle_timeout` at one instant at the most, before the deadline must lie ahead.
const TIMEOUTS_PER_INSTANT_MAX: usize = 16;

/// One endpoint: a core on its side of the network, watched.
#[derive(Debug)]
pub struct Endpoint<C> {
    /// The core.
    pub core: C,
    side: Side,
    out: Outgoing,
}

impl<C: Core> Endpoint<C> {
    /// A core on this side.
    pub fn new(side: Side, core: C) -> Self {
        Self { core, side, out: Outgoing::default() }
    }

    /// The side.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Does what a driver does in a turn after input: sends everything, and tells the core of the time if its
    /// deadline has come. Fails if a promise is broken.
    pub fn settle(&mut self, now: Instant, network: &mut Network) -> Result<(), Failure> {
        for _ in 0..TIMEOUTS_PER_INSTANT_MAX {
            self.transmit_all(now, network)?;
            if self.core.next_deadline().is_none_or(|deadline| deadline > now) {
                return Ok(());
            }
            self.core.handle_timeout(now);
        }
        let what = format!("{:?}: next_deadline stays in the past after handle_timeout", self.side);
        Err(Failure::new(network.elapsed(now), what))
    }

    /// Calls `handle_timeout` although nothing is due. The endpoint must be settled.
    pub fn wake_early(&mut self, now: Instant, network: &Network) -> Result<(), Failure> {
        let before = self.core.next_deadline();
        self.core.handle_timeout(now);
        let after = self.core.next_deadline();
        let at = network.elapsed(now);
        Failure::unless(before == after, at, || {
            let from_now = |time: Option<Instant>| time.map(|time| time.saturating_duration_since(now));
            let (before, after) = (from_now(before), from_now(after));
            format!(
                "{:?}: an early handle_timeout moved the deadline from {before:?} to {after:?}",
                self.side
            )
        })?;
        Failure::unless(!self.core.poll_transmit(now, &mut self.out), at, || {
            format!("{:?}: an early handle_timeout sent something", self.side)
        })
    }

    fn transmit_all(&mut self, now: Instant, network: &mut Network) -> Result<(), Failure> {
        for _ in 0..POLLS_PER_TURN_MAX {
            if !self.core.poll_transmit(now, &mut self.out) {
                let silent = !self.core.poll_transmit(now, &mut self.out);
                return Failure::unless(silent, network.elapsed(now), || {
                    format!("{:?}: poll_transmit had nothing more, and then had", self.side)
                });
            }
            let to = self.out.to.unwrap_or_else(|| network.public_address(self.side.other(), now));
            for datagram in self.out.datagrams() {
                network.send(now, self.side, to, datagram);
            }
        }
        let what = format!("{:?}: poll_transmit goes on without end", self.side);
        Err(Failure::new(network.elapsed(now), what))
    }
}

/// Calls the methods of two connected cores in a random order, `steps` times: input that is noise, datagrams
/// of the peer that are cut short, swapped or come again, timeouts early and late, polls in the middle.
/// `command` gives commands of the core's own. Nothing is promised about what comes of it, but that nobody
/// panics or spins.
pub fn disturb<C: Core>(
    cores: &mut [C; 2],
    random: &mut Random,
    start: Instant,
    steps: usize,
    mut command: impl FnMut(&mut C, &mut Random, Instant),
) -> Result<(), Failure> {
    const KEPT: usize = 64;
    let mut now = start;
    let mut kept: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    let mut out = Outgoing::default();
    for _ in 0..steps {
        let side = Side::BOTH[random.random_range(0..2)];
        let core = &mut cores[side.index()];
        match random.random_range(0..12) {
            0 => core.handle_timeout(now),
            1 => now += Duration::from_micros(random.random_range(0..3_000_000)),
            2 => {
                now = core.next_deadline().map_or(now, |deadline| deadline.max(now));
                core.handle_timeout(now);
            }
            3 => core.handle_datagram(now, side.other().address(), &mut noise(random)),
            4 | 5 => command(core, random, now),
            6 | 7 => {
                if core.poll_transmit(now, &mut out) {
                    let kept = &mut kept[side.other().index()];
                    kept.extend(out.datagrams().map(<[u8]>::to_vec));
                    kept.drain(..kept.len().saturating_sub(KEPT));
                }
            }
            _ => deliver_something(core, &mut kept[side.index()], side.other().address(), random, now),
        }
    }
    for core in cores.iter_mut() {
        let spins = (0..TIMEOUTS_PER_INSTANT_MAX).all(|_| {
            while core.poll_transmit(now, &mut out) {}
            core.handle_timeout(now);
            core.next_deadline().is_some_and(|deadline| deadline <= now)
        });
        let what = || "next_deadline stays in the past after handle_timeout".to_owned();
        Failure::unless(!spins, now.saturating_duration_since(start), what)?;
    }
    Ok(())
}

/// A datagram of the peer: most often the oldest one, once; sometimes any, whole, damaged, and it stays for
/// another time.
fn deliver_something<C: Core>(
    core: &mut C,
    kept: &mut Vec<Vec<u8>>,
    from: SocketAddr,
    random: &mut Random,
    now: Instant,
) {
    if kept.is_empty() {
        return;
    }
    if random.random_bool(0.8) {
        let mut datagram = kept.remove(0);
        return core.handle_datagram(now, from, &mut datagram);
    }
    let mut datagram = kept[random.random_range(0..kept.len())].clone();
    if random.random_bool(0.3) {
        datagram.truncate(random.random_range(0..=datagram.len()));
    }
    core.handle_datagram(now, from, &mut datagram);
}

/// Random bytes of a random length.
fn noise(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..1500)];
    random.fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    /// A core that sends one datagram when its deadline comes, and breaks what it is told to.
    #[derive(Default)]
    struct Liar {
        deadline: Option<Instant>,
        to_send: u32,
        polls: u32,
        speaks_again: bool,
        never_ends: bool,
        spins: bool,
        hasty: bool,
    }

    impl Core for Liar {
        fn handle_datagram(&mut self, _now: Instant, _from: SocketAddr, _datagram: &mut [u8]) {}

        fn handle_timeout(&mut self, now: Instant) {
            if self.hasty || self.deadline.is_some_and(|deadline| deadline <= now) {
                self.to_send += 1;
                self.deadline = self.spins.then_some(now);
            }
        }

        fn next_deadline(&self) -> Option<Instant> {
            self.deadline
        }

        fn poll_transmit(&mut self, _now: Instant, out: &mut Outgoing) -> bool {
            self.polls += 1;
            *out = Outgoing { to: None, bytes: vec![1], segment_bytes: 1 };
            if self.never_ends || self.speaks_again && self.polls == 2 {
                return true;
            }
            let sends = self.to_send > 0;
            self.to_send = self.to_send.saturating_sub(1);
            sends
        }
    }

    /// What a turn at its deadline, and a call of `handle_timeout` right after, find.
    fn check(liar: Liar) -> Result<(), String> {
        let start = Instant::now();
        let mut network = Network::new(1, start, Profile::default());
        let mut endpoint = Endpoint::new(Side::A, Liar { deadline: Some(start), ..liar });
        let result = endpoint.settle(start, &mut network).and_then(|()| endpoint.wake_early(start, &network));
        result.map_err(|failure| failure.what)
    }

    #[test]
    fn each_broken_promise_is_found() {
        assert_eq!(check(Liar::default()), Ok(()));
        for (liar, found) in [
            (Liar { speaks_again: true, ..Liar::default() }, "had nothing more, and then had"),
            (Liar { never_ends: true, ..Liar::default() }, "goes on without end"),
            (Liar { spins: true, ..Liar::default() }, "stays in the past"),
            (Liar { hasty: true, ..Liar::default() }, "an early handle_timeout sent something"),
        ] {
            let what = check(liar).unwrap_err();
            assert!(what.contains(found), "{what}");
        }
    }

    #[test]
    fn a_core_that_spins_is_found_amid_disturbance() {
        let start = Instant::now();
        for (spins, holds) in [(false, true), (true, false)] {
            let liar = || Liar { spins, deadline: Some(start), ..Liar::default() };
            let mut random = crate::random::generator(1, crate::random::Purpose::Run);
            let result = disturb(&mut [liar(), liar()], &mut random, start, 100, |_, _, _| ());
            assert_eq!(result.is_ok(), holds);
        }
    }
}
