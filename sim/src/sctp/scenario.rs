//! Two associations, two applications and a network, from the first packet to the last.

use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, Config, State};
use rand::RngExt;

use super::SctpCore;
use super::app::{App, Closed};
use super::describe::describe;
use super::model::Model;
use super::plan::{Action, End, Plan};
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::profile::Profile;
use crate::random::{Purpose, Random, generator, seed_bytes};
use crate::stage::Stage;

/// Time limit for delivering all data after the network has healed.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(240);
/// Time limit for closing both sides.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(120);
/// Exceeds the time that any datagram is in flight.
const SETTLE_TIME: Duration = Duration::from_secs(6);
/// How long an idle association is observed, and the packets that one side may send meanwhile: HEARTBEATs and
/// their acknowledgements.
const IDLE_TIME: Duration = Duration::from_secs(100);
const IDLE_PACKETS_MAX: u64 = 40;
/// The maximum number of rounds in a turn: sending, reading, sending again.
const ROUNDS_MAX: usize = 1000;

/// The result of a successful run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// A hash over all deliveries of the network.
    pub trace: u64,
    /// Virtual duration of the run.
    pub took: Duration,
    /// Virtual time from the last action until nothing was pending; zero after an early shutdown.
    pub drained_after: Duration,
    /// Messages delivered, in both directions.
    pub messages: u64,
    /// Packets sent, in both directions.
    pub packets: u64,
}

/// Executes the plan of a seed.
pub fn run(seed: u64) -> Result<Outcome, Failure> {
    run_plan(seed, Plan::draw(seed))
}

/// Executes a plan with the random draws of this seed. With NETDYNO_SIM_LOG set, each packet is written to
/// standard error.
pub fn run_plan(seed: u64, plan: Plan) -> Result<Outcome, Failure> {
    let mut run = Run::new(seed, plan)?;
    run.play()?;
    let played = run.stage.elapsed();
    let mut drained_after = Duration::ZERO;
    if run.plan.end != End::EarlyShutdown || !run.is_ending() {
        run.drain()?;
        drained_after = run.stage.elapsed() - played;
        // The last window update may have been lost: one more message in each direction makes the peer send
        // it again.
        run.apps.iter_mut().for_each(App::send_one_more);
        run.drain()?;
        run.check_drained()?;
        if run.plan.idles {
            run.idle()?;
        }
    }
    run.finish()?;
    run.check_delivered()?;
    let packets = Side::BOTH.iter().map(|side| run.stage.network.stats(*side).sent).sum();
    let messages = Side::BOTH.iter().map(|side| run.model.came_out(*side).0).sum();
    Ok(Outcome {
        trace: run.stage.network.trace(),
        took: run.stage.elapsed(),
        drained_after,
        messages,
        packets,
    })
}

/// A run in progress.
struct Run {
    plan: Plan,
    /// The index of the next action.
    next_action: usize,
    stage: Stage<SctpCore>,
    apps: [App; 2],
    model: Model,
    random: Random,
}

impl Run {
    fn new(seed: u64, plan: Plan) -> Result<Self, Failure> {
        let start = Instant::now();
        let [forward, backward] = plan.profiles.clone();
        let network = Network::asymmetric(seed, start, forward, backward);
        let mut seeds = generator(seed, Purpose::Cores);
        let mut core = |side: Side| {
            let config = plan.configs[side.index()].clone();
            let max_packet_bytes = config.max_packet_bytes;
            let association = Association::new(Arc::new(config), seed_bytes(&mut seeds), start)
                .map_err(|error| Failure::new(Duration::ZERO, format!("{side:?}: {error}")))?;
            Ok(SctpCore { association, max_packet_bytes })
        };
        let mut stage = Stage::new(start, network, [core(Side::A)?, core(Side::B)?], describe);
        stage.granularity = plan.granularity;
        let apps = Side::BOTH.map(|side| App::new(side, plan.streams(side)));
        let (model, random) = (Model::new(seed), generator(seed, Purpose::Run));
        Side::BOTH
            .iter()
            .for_each(|side| stage.log(&format!("from {side:?}: {:?}", plan.profiles[side.index()])));
        Side::BOTH.iter().for_each(|side| stage.log(&format!("{side:?}: {:?}", plan.configs[side.index()])));
        Ok(Self { next_action: 0, stage, apps, model, random, plan })
    }

    fn fail<T>(&self, what: impl Into<String>) -> Result<T, Failure> {
        Err(self.stage.failure(what))
    }

    fn association(&self, side: Side) -> &Association {
        &self.stage.core(side).association
    }

    /// Whether a shutdown has begun.
    fn is_ending(&self) -> bool {
        Side::BOTH.iter().any(|side| {
            matches!(self.association(*side).state(), State::ShuttingDown)
                || self.apps[side.index()].closed().is_some()
        })
    }

    /// Runs until the disturbances are over and all actions are done.
    fn play(&mut self) -> Result<(), Failure> {
        self.turn()?;
        self.run_until(self.stage.start() + self.plan.heals_at)?;
        self.stage.network.heal();
        while self.next_action < self.plan.actions.len() {
            self.advance(None)?;
            self.turn()?;
        }
        self.apps.iter_mut().for_each(App::resume);
        Ok(())
    }

    /// Runs until nothing is pending.
    fn drain(&mut self) -> Result<(), Failure> {
        let limit = self.stage.now() + DRAIN_TIME_MAX;
        self.turn()?;
        while let Some(obstacle) = self.obstacle() {
            if self.stage.now() >= limit {
                return self
                    .fail(format!("not drained {DRAIN_TIME_MAX:?} after the network healed: {obstacle}"));
            }
            self.advance(Some(limit))?;
            self.turn()?;
        }
        // Delayed SACKs remain.
        let limit = self.stage.now() + Duration::from_secs(1);
        self.run_until(limit)
    }

    fn run_until(&mut self, limit: Instant) -> Result<(), Failure> {
        while self.stage.now() < limit {
            self.advance(Some(limit))?;
            self.turn()?;
        }
        Ok(())
    }

    /// A description of what is still pending.
    fn obstacle(&self) -> Option<String> {
        for side in Side::BOTH {
            if let Some(waits) = self.apps[side.index()].waits_for() {
                return Some(waits);
            }
            let outstanding = self.model.reliable_outstanding(side);
            if outstanding > 0 {
                let missing = self.model.missing(side);
                return Some(format!("{outstanding} reliable messages of {side:?} did not come: {missing}"));
            }
            let (association, stats) = (self.association(side), self.association(side).stats());
            let buffered: usize =
                self.plan.streams(side).iter().map(|s| association.buffered_amount(*s)).sum();
            if buffered > 0 || stats.in_flight_bytes > 0 || stats.held_bytes > 0 {
                let (in_flight, held) = (stats.in_flight_bytes, stats.held_bytes);
                return Some(format!(
                    "{side:?}: {buffered} bytes buffered, {in_flight} in flight, {held} held"
                ));
            }
        }
        None
    }

    /// The gauges are back at their initial values, and the counters agree with the model.
    fn check_drained(&self) -> Result<(), Failure> {
        for side in Side::BOTH {
            let (stats, peer) = (self.association(side).stats(), self.association(side.other()).stats());
            let limits = &self.plan.configs[side.index()].limits;
            let what = |what: String| format!("{side:?}, drained: {what}: {stats:?}");
            let rows = [
                (self.association(side).state() == State::Established, "the state is another".to_owned()),
                (stats.window_bytes >= limits.receive_window_bytes, "the window is not full".to_owned()),
                (
                    stats.peer_window_bytes >= peer.window_bytes / 2,
                    format!(
                        "thinks of the peer's window {} as {}",
                        peer.window_bytes, stats.peer_window_bytes
                    ),
                ),
                (
                    (stats.messages_sent, stats.bytes_sent) == self.model.taken(side),
                    "counts of sent".to_owned(),
                ),
                (
                    (stats.messages_received, stats.bytes_received) == self.model.came_out(side.other()),
                    format!("counts of received, {:?}", self.model.came_out(side.other())),
                ),
                (
                    self.model.taken(side).0 - self.model.came_out(side).0 <= stats.messages_abandoned,
                    "more messages are missing than were given up".to_owned(),
                ),
            ];
            if let Some((_, broken)) = rows.into_iter().find(|(holds, _)| !holds) {
                return self.fail(what(broken));
            }
            if self.was_calm() {
                let given_up = self.model.given_up_by_count(side);
                // A sender that expects SACKs sooner than the peer sends them retransmits spuriously.
                let configs = &self.plan.configs;
                let patient = configs[side.index()].sack_delay >= configs[side.other().index()].sack_delay;
                let sent_again = patient && stats.chunks_retransmitted + stats.retransmission_timeouts > 0;
                if given_up > 0 || sent_again {
                    let text =
                        format!("given up {given_up}, sent again {sent_again}, and nothing was ever lost");
                    return self.fail(what(text));
                }
            }
        }
        Ok(())
    }

    /// Whether nothing could have caused a retransmission: neither the network nor a receiver's limits
    /// dropped anything.
    fn was_calm(&self) -> bool {
        Side::BOTH.iter().all(|side| {
            let (stats, profile) = (self.stage.network.stats(*side), &self.plan.profiles[side.index()]);
            let dropped = stats.lost + stats.queue_drops + stats.too_long + stats.cut_off;
            let harmed = dropped + stats.corrupted + stats.held_back;
            let usual = Config::default().limits.max_waiting_messages;
            let spacious = self.plan.configs[side.index()].limits.max_waiting_messages == usual;
            let punctual =
                profile.jitter.is_zero() && profile.rate.is_none() && self.plan.granularity.is_zero();
            harmed == 0 && spacious && punctual
        })
    }

    /// An idle association sends almost nothing.
    fn idle(&mut self) -> Result<(), Failure> {
        // Late packets arrive.
        self.run_until(self.stage.now() + SETTLE_TIME)?;
        let before = Side::BOTH.map(|side| self.stage.network.stats(side).sent);
        self.run_until(self.stage.now() + IDLE_TIME)?;
        for side in Side::BOTH {
            let packets = self.stage.network.stats(side).sent - before[side.index()];
            // Path MTU discovery may continue.
            let probes = self.plan.configs[side.index()].max_packet_bytes
                > self.plan.configs[side.index()].packet_bytes;
            if packets > IDLE_PACKETS_MAX * (1 + u64::from(probes)) {
                return self.fail(format!("{side:?} sent {packets} packets in {IDLE_TIME:?} of silence"));
            }
        }
        Ok(())
    }

    /// Ends the run as planned.
    fn finish(&mut self) -> Result<(), Failure> {
        let now = self.stage.now();
        let enders: &[Side] = match &self.plan.end {
            End::EarlyShutdown if self.is_ending() => &[],
            End::EarlyShutdown | End::Shutdown(None) => &Side::BOTH,
            End::Shutdown(Some(side)) | End::Abort(side) => &[*side],
        };
        let aborts = matches!(self.plan.end, End::Abort(_));
        for side in enders {
            let association = &mut self.stage.core_mut(*side).association;
            if aborts {
                association.abort(now, "enough")
            } else {
                association.shutdown(now)
            }
            self.apps[side.index()].end();
        }
        self.turn()?;
        let limit = self.stage.now() + CLOSE_TIME_MAX;
        while self.apps.iter().any(|app| app.closed().is_none()) && self.stage.now() < limit {
            self.advance(Some(limit))?;
            self.turn()?;
        }
        self.run_until(self.stage.now() + IDLE_TIME)?;
        self.check_closed(aborts)
    }

    fn check_closed(&self, aborted: bool) -> Result<(), Failure> {
        for side in Side::BOTH {
            let (association, app) = (self.association(side), &self.apps[side.index()]);
            let as_it_should = match app.closed() {
                Some(Closed::Shutdown) => !aborted || self.plan.end == End::Abort(side),
                Some(Closed::Error(text)) => aborted && text.contains("enough"),
                None => false,
            };
            if !as_it_should {
                let state = association.state();
                return self
                    .fail(format!("{side:?} should have closed: {:?}, state {state:?}", app.closed()));
            }
            if let Some(deadline) = association.next_deadline() {
                let rest = deadline.saturating_duration_since(self.stage.now());
                return self.fail(format!("{side:?} is closed, and yet has a deadline in {rest:?}"));
            }
        }
        Ok(())
    }

    /// After a graceful shutdown every reliable message was delivered.
    fn check_delivered(&self) -> Result<(), Failure> {
        if matches!(self.plan.end, End::Abort(_)) {
            return Ok(());
        }
        for side in Side::BOTH {
            let outstanding = self.model.reliable_outstanding(side);
            if outstanding > 0 {
                let missing = self.model.missing(side);
                return self
                    .fail(format!("closed, but {outstanding} messages of {side:?} are missing: {missing}"));
            }
        }
        Ok(())
    }

    /// Advances to the next event, at most to `limit`.
    fn advance(&mut self, limit: Option<Instant>) -> Result<(), Failure> {
        let (start, now) = (self.stage.start(), self.stage.now());
        let action = self.plan.actions.get(self.next_action).map(|(at, ..)| start + *at);
        let connects = self.plan.connect.iter().flatten().map(|at| start + *at).filter(|at| *at > now);
        self.stage.advance(limit, action.into_iter().chain(connects))
    }

    /// Processes all events of one instant.
    fn turn(&mut self) -> Result<(), Failure> {
        self.connect();
        while let Some(delivery) = self.stage.poll_delivery() {
            let side = delivery.to;
            self.apps[side.index()].watch(&self.stage.core(side).association);
            self.stage.deliver(delivery);
            self.apps[side.index()].watched(&self.stage.core(side).association);
        }
        self.act()?;
        for _ in 0..ROUNDS_MAX {
            self.settle()?;
            if !self.pump()? {
                self.check_alive()?;
                return self.wake_early();
            }
        }
        self.fail(format!("a turn of more than {ROUNDS_MAX} rounds"))
    }

    fn connect(&mut self) {
        let (elapsed, now) = (self.stage.elapsed(), self.stage.now());
        for side in Side::BOTH {
            if self.plan.connect[side.index()].take_if(|at| *at <= elapsed).is_some() {
                self.stage.core_mut(side).association.connect(now);
            }
        }
    }

    fn act(&mut self) -> Result<(), Failure> {
        let (elapsed, now) = (self.stage.elapsed(), self.stage.now());
        while let Some((_, side, action)) =
            self.plan.actions.get(self.next_action).filter(|(at, ..)| *at <= elapsed)
        {
            if !matches!(action, Action::Send(_)) {
                self.stage.log(&format!("{side:?} {action:?}"));
            }
            let association = &mut self.stage.core_mut(*side).association;
            self.apps[side.index()]
                .act(now, association, &mut self.model, action)
                .map_err(|what| Failure::new(elapsed, format!("{side:?}: {what}")))?;
            self.next_action += 1;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failure> {
        for side in Side::BOTH {
            self.apps[side.index()].watch(&self.stage.core(side).association);
            self.stage.settle(side)?;
            self.apps[side.index()].watched(&self.stage.core(side).association);
        }
        Ok(())
    }

    fn pump(&mut self) -> Result<bool, Failure> {
        let (now, elapsed) = (self.stage.now(), self.stage.elapsed());
        let mut happened = false;
        for (app, side) in self.apps.iter_mut().zip(Side::BOTH) {
            let association = &mut self.stage.core_mut(side).association;
            happened |= app.pump(now, elapsed, association, &mut self.model)?;
        }
        Ok(happened)
    }

    fn check_alive(&self) -> Result<(), Failure> {
        for side in Side::BOTH {
            if let Some(Closed::Error(error)) = self.apps[side.index()].closed()
                && !matches!(self.plan.end, End::Abort(_))
            {
                return self.fail(format!("{side:?}'s association ended: {error}"));
            }
        }
        Ok(())
    }

    fn wake_early(&mut self) -> Result<(), Failure> {
        if self.plan.early_wakes && self.random.random_bool(0.1) {
            self.stage.wake_early(Side::BOTH[self.random.random_range(0..2)])?;
        }
        Ok(())
    }
}

/// A plan without randomness in its network, for tests of a single property.
impl Plan {
    /// The same plan on another network.
    pub fn on(self, profile: Profile) -> Self {
        Self { profiles: [profile.clone(), profile], ..self }
    }
}
