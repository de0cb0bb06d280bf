//! One side loses its state and restarts (RFC 9260 section 5.2): the other one is notified, no earlier data
//! is delivered after that, and from then on the association behaves like a new one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, Config, Event, Ppid, SendOptions, State, StreamId};
use rand::RngExt;

use super::SctpCore;
use super::describe::describe;
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::profile::Profile;
use crate::random::{Purpose, Random, generator, seed_bytes};
use crate::stage::Stage;

/// Messages of each side before and after the restart.
const MESSAGES: usize = 40;
/// Exceeds the duration of any run.
const TIME_MAX: Duration = Duration::from_secs(120);
/// The network heals after this time, so that no association fails.
const TROUBLES_TIME: Duration = Duration::from_secs(8);
/// PPIDs of messages before and after the restart.
const BEFORE: Ppid = Ppid(1);
const AFTER: Ppid = Ppid(2);

/// Two associations; A's is replaced by a new one while data is in flight in both directions.
pub fn run_restart(seed: u64) -> Result<(), Failure> {
    let start = Instant::now();
    let random = &mut generator(seed, Purpose::Run);
    let mut profile = Profile::random(random, Duration::from_secs(2));
    // Packets that arrive seconds late may belong to the forgotten association, which would invalidate every
    // check here.
    profile.duplicate = None;
    let network = Network::new(seed, start, profile);
    let mut core = || new_core(random, start);
    let mut run = Restart {
        stage: Stage::new(start, network, [core()?, core()?], describe),
        connected: [false; 2],
        restarted: false,
        after: [0; 2],
    };
    run.stage.core_mut(Side::A).association.connect(start);
    run.go_on("a connection", |run| run.connected == [true; 2])?;
    Side::BOTH.iter().for_each(|side| run.send(*side, BEFORE, random));
    run.run_for(Duration::from_millis(random.random_range(0..300)))?;

    *run.stage.core_mut(Side::A) = new_core(random, start)?;
    run.connected[0] = false;
    let now = run.stage.now();
    run.stage.core_mut(Side::A).association.connect(now);
    // Messages that wait for the association to be established.
    run.send(Side::A, AFTER, random);
    run.go_on("news of the restart", |run| run.restarted && run.connected[0])?;
    run.send(Side::B, AFTER, random);
    run.stage.network.heal();
    run.go_on("all messages of after", |run| run.after == [MESSAGES; 2])?;
    run.run_for(Duration::from_secs(2))?;
    run.check_idle()
}

/// An association with random, typical settings.
fn new_core(random: &mut Random, start: Instant) -> Result<SctpCore, Failure> {
    let mut config = Config::default();
    config.interleaving = random.random_bool(0.5);
    let max_packet_bytes = config.max_packet_bytes;
    let association = Association::new(Arc::new(config), seed_bytes(random), start)
        .map_err(|error| Failure::new(Duration::ZERO, error.to_string()))?;
    Ok(SctpCore { association, max_packet_bytes })
}

/// A run in progress.
struct Restart {
    stage: Stage<SctpCore>,
    connected: [bool; 2],
    /// B was notified.
    restarted: bool,
    /// Messages sent after the restart that A and B have received.
    after: [usize; 2],
}

impl Restart {
    fn send(&mut self, side: Side, ppid: Ppid, random: &mut Random) {
        let now = self.stage.now();
        for _ in 0..MESSAGES {
            let (stream, bytes) = (StreamId(random.random_range(0..3)), random.random_range(1..4000));
            let options = SendOptions { unordered: random.random_bool(0.5), ..SendOptions::default() };
            // The buffer is far larger than this, and the association is open or will be.
            let _ = self.stage.core_mut(side).association.send(now, stream, ppid, &vec![7; bytes], options);
        }
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Failure> {
        let limit = self.stage.now() + time;
        self.turn()?;
        while self.stage.now() < limit {
            self.stage.advance(Some(limit), [].into_iter())?;
            self.turn()?;
        }
        Ok(())
    }

    fn go_on(&mut self, what: &str, until: impl Fn(&Self) -> bool) -> Result<(), Failure> {
        let (heals_at, limit) = (self.stage.now() + TROUBLES_TIME, self.stage.now() + TIME_MAX);
        self.turn()?;
        while !until(self) {
            if self.stage.now() >= heals_at {
                self.stage.network.heal();
            }
            if self.stage.now() >= limit {
                let (state, after) = (self.stage.core(Side::B).association.state(), self.after);
                let text = format!("no {what} in {TIME_MAX:?}: B is {state:?}, messages of after {after:?}");
                return Err(self.stage.failure(text));
            }
            self.stage.advance(Some(limit), [].into_iter())?;
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), Failure> {
        while let Some(delivery) = self.stage.poll_delivery() {
            self.stage.deliver(delivery);
        }
        for side in Side::BOTH {
            self.stage.settle(side)?;
            self.take(side)?;
            self.stage.settle(side)?;
        }
        Ok(())
    }

    /// Processes messages and events of one side.
    fn take(&mut self, side: Side) -> Result<(), Failure> {
        while let Some(event) = self.stage.core_mut(side).association.poll_event() {
            match event {
                Event::Connected if !self.connected[side.index()] => self.connected[side.index()] = true,
                Event::Restarted if side == Side::B && !self.restarted => self.restarted = true,
                Event::BufferedAmountLow(_) => {}
                other => return Err(self.stage.failure(format!("{side:?}: {other:?} came, unexpected"))),
            }
        }
        while let Some(message) = self.stage.core_mut(side).association.recv() {
            let is_after = message.ppid == AFTER;
            self.after[side.index()] += usize::from(is_after);
            if !is_after && self.restarted {
                return Err(self.stage.failure(format!("{side:?} got a message of before the restart")));
            }
        }
        Ok(())
    }

    fn check_idle(&self) -> Result<(), Failure> {
        for side in Side::BOTH {
            let association = &self.stage.core(side).association;
            let (state, stats) = (association.state(), association.stats());
            let idle = state == State::Established && stats.in_flight_bytes == 0 && stats.held_bytes == 0;
            Failure::unless(idle, self.stage.elapsed(), || {
                format!("{side:?} is not at rest: {state:?}, {stats:?}")
            })?;
        }
        Ok(())
    }
}
