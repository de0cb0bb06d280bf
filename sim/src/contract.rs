//! The contract of every core, whatever its protocol.
//!
//! 1. After `poll_transmit` has returned false, it returns false until the next input or timeout.
//! 2. Each input or timeout causes a bounded number of datagrams.
//! 3. After `handle_timeout`, `next_deadline` is never in the past, so drivers do not spin.
//! 4. `handle_timeout` before the deadline has no effect.
//! 5. Any order of calls is legal: see [`disturb`].

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rand::{Rng, RngExt};

use crate::core::{Core, Outgoing};
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::random::Random;

/// The maximum number of `poll_transmit` calls in one turn.
const POLLS_PER_TURN_MAX: usize = 100_000;
/// The maximum number of `handle_timeout` calls at one instant, after which the deadline must be in the
/// future.
const TIMEOUTS_PER_INSTANT_MAX: usize = 16;

/// One endpoint: a core on its side of the network, checked against the contract.
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

    /// Does what a driver does after input: sends all datagrams, and calls `handle_timeout` if the deadline
    /// has passed. Fails if the contract is violated.
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

    /// Calls `handle_timeout` before the deadline. The endpoint must be settled.
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
        let what = format!("{:?}: poll_transmit does not end", self.side);
        Err(Failure::new(network.elapsed(now), what))
    }
}

/// Calls the methods of two connected cores in a random order, `steps` times: random input, datagrams of the
/// peer truncated, swapped or repeated, timeouts early and late, polls at any time. `command` issues the
/// core's own commands. The only requirement is that no core panics or spins.
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

/// Delivers a datagram of the peer: usually the oldest one, once; sometimes any of them, intact or damaged,
/// and it may be delivered again.
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

    /// A core that sends one datagram at its deadline, and violates the contract as configured.
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

    /// The result of a turn at its deadline and of a call of `handle_timeout` right after.
    fn check(liar: Liar) -> Result<(), String> {
        let start = Instant::now();
        let mut network = Network::new(1, start, Profile::default());
        let mut endpoint = Endpoint::new(Side::A, Liar { deadline: Some(start), ..liar });
        let result = endpoint.settle(start, &mut network).and_then(|()| endpoint.wake_early(start, &network));
        result.map_err(|failure| failure.what)
    }

    #[test]
    fn each_violation_is_detected() {
        assert_eq!(check(Liar::default()), Ok(()));
        for (liar, found) in [
            (Liar { speaks_again: true, ..Liar::default() }, "had nothing more, and then had"),
            (Liar { never_ends: true, ..Liar::default() }, "does not end"),
            (Liar { spins: true, ..Liar::default() }, "stays in the past"),
            (Liar { hasty: true, ..Liar::default() }, "an early handle_timeout sent something"),
        ] {
            let what = check(liar).unwrap_err();
            assert!(what.contains(found), "{what}");
        }
    }

    #[test]
    fn a_spinning_core_is_detected_during_disturbance() {
        let start = Instant::now();
        for (spins, holds) in [(false, true), (true, false)] {
            let liar = || Liar { spins, deadline: Some(start), ..Liar::default() };
            let mut random = crate::random::generator(1, crate::random::Purpose::Run);
            let result = disturb(&mut [liar(), liar()], &mut random, start, 100, |_, _, _| ());
            assert_eq!(result.is_ok(), holds);
        }
    }
}
