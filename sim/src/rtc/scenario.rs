//! Two peer connections, two applications, a network and signalling, from the offer to the end.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use netdyno_rtc_core::{Certificate, Config, Error, PeerConnection, SignalingError};

use super::RtcCore;
use super::app::App;
use super::describe::describe;
use super::model::Model;
use super::plan::{Action, Plan};
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::profile::{Direction, Partition};
use crate::random::{Purpose, generator, seed_bytes};
use crate::stage::Stage;

/// Time limit for delivering all data after the network has healed.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(120);
/// Time limit for both sides to learn of the end: consent must expire, and the time for a restart.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(120);
/// Time limit of a restart over a healed network: checks that were lost before are repeated.
const RESTART_TIME_MAX: Duration = Duration::from_secs(10);
/// How long an idle connection is observed, and the packets that one side may send meanwhile: consent,
/// HEARTBEATs, and probes of the path MTU.
const IDLE_TIME: Duration = Duration::from_secs(60);
const IDLE_PACKETS_MAX: u64 = 120;
/// The maximum number of rounds in a turn.
const ROUNDS_MAX: usize = 1000;

/// A signalling message, sent outside the network.
#[derive(Debug, Clone)]
enum Signal {
    Offer(String),
    Answer(String),
    Candidate(String),
}

/// Executes the plan of a seed. With NETDYNO_SIM_LOG set, each datagram is written to standard error.
pub fn run(seed: u64) -> Result<(), Failure> {
    let mut run = Run::new(seed, Plan::draw(seed))?;
    run.signal_offer(run.plan.offerer, false)?;
    if run.plan.both_offer {
        run.signal_offer(run.plan.offerer.other(), false)?;
    }
    run.play()?;
    run.drain()?;
    if let Some((time, restarters)) = run.plan.outage.clone() {
        run.outage(time, &restarters)?;
        run.drain()?;
    }
    if run.plan.idles {
        run.idle()?;
        run.apps.iter_mut().for_each(App::send_one_more);
        run.drain()?;
    }
    run.finish()
}

/// A run in progress.
struct Run {
    plan: Plan,
    /// The index of the next action.
    next_action: usize,
    stage: Stage<RtcCore>,
    apps: [App; 2],
    model: Model,
    /// Signals in transit, in order of arrival: time, destination, signal.
    signals: VecDeque<(Instant, Side, Signal)>,
    /// An offer of the other side was ignored, and so are its candidates.
    passes_over: [bool; 2],
    /// Nothing is delivered, possibly for longer than consent lasts.
    is_out: bool,
    /// One side has closed.
    is_closing: bool,
}

impl Run {
    fn new(seed: u64, plan: Plan) -> Result<Self, Failure> {
        let start = Instant::now();
        let network = Network::new(seed, start, plan.profile.clone());
        let mut seeds = generator(seed, Purpose::Cores);
        let mut core = |side: Side| -> Result<RtcCore, Error> {
            let mut config = Config::new(certificate(side)?);
            config.ice_lite = plan.lite && side == Side::B;
            config.max_datagram_bytes = plan.max_datagram_bytes;
            let mut peer = PeerConnection::new(Arc::new(config), seed_bytes(&mut seeds), start)?;
            peer.add_local_address(start, side.address());
            Ok(RtcCore::new(side, peer))
        };
        let fail = |error: Error| Failure::new(Duration::ZERO, error.to_string());
        let cores = [core(Side::A).map_err(fail)?, core(Side::B).map_err(fail)?];
        let mut stage = Stage::new(start, network, cores, describe);
        stage.granularity = plan.granularity;
        let apps = Side::BOTH.map(|side| App::new(side, &plan.channels));
        let model = Model::new(seed, &plan.channels);
        let Plan { offerer, lite, trickle, signaling_delay, heals_at, .. } = &plan;
        stage.log(&format!(
            "offer by {offerer:?}, lite {lite}, trickle {trickle}, signals take {signaling_delay:?}, heals after {heals_at:?}"
        ));
        stage.log(&format!("{:?}", plan.profile));
        Ok(Self {
            next_action: 0,
            stage,
            apps,
            model,
            signals: VecDeque::new(),
            passes_over: [false; 2],
            is_out: false,
            is_closing: false,
            plan,
        })
    }

    fn fail<T>(&self, what: impl Into<String>) -> Result<T, Failure> {
        Err(self.stage.failure(what))
    }

    /// Runs until the disturbances are over and all actions are done.
    fn play(&mut self) -> Result<(), Failure> {
        let heals_at = self.stage.start() + self.plan.heals_at;
        let mut corrupts = self.plan.corrupt > 0.0;
        self.turn()?;
        while self.stage.now() < heals_at {
            self.advance(Some(heals_at))?;
            self.turn()?;
            if corrupts && self.apps.iter().all(App::was_connected) {
                corrupts = false;
                for side in Side::BOTH {
                    let mut profile = self.stage.network.profile(side).clone();
                    profile.corrupt = self.plan.corrupt;
                    self.stage.network.set_profile(side, profile);
                }
            }
        }
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
        Ok(())
    }

    /// A description of what is still pending.
    fn obstacle(&self) -> Option<String> {
        self.apps.iter().find_map(App::waits_for).or_else(|| self.model.missing()).or_else(|| {
            Side::BOTH.into_iter().find_map(|side| {
                let peer = &self.stage.core(side).peer;
                let stats = peer.stats().sctp;
                let buffered = self.apps[side.index()].buffered_bytes(peer);
                let waits = stats.in_flight_bytes > 0 || stats.held_bytes > 0 || buffered > 0;
                waits.then(|| format!("{side:?}: {stats:?}"))
            })
        })
    }

    /// Delivers nothing for a while, in which both sides have data to send. Then ICE is restarted, until both
    /// are connected.
    fn outage(&mut self, time: Duration, restarters: &[Side]) -> Result<(), Failure> {
        let (from, until) = (self.stage.elapsed(), self.stage.now() + time);
        self.stage.log(&format!("outage of {time:?}, restarted by {restarters:?}"));
        for side in Side::BOTH {
            let mut profile = self.stage.network.profile(side).clone();
            profile.partitions = vec![Partition { from, until: from + time, way: Direction::Both }];
            self.stage.network.set_profile(side, profile);
        }
        self.is_out = true;
        self.apps.iter_mut().for_each(App::send_one_more);
        self.turn()?;
        while self.stage.now() < until {
            self.advance(Some(until))?;
            self.turn()?;
        }
        self.apps.iter_mut().for_each(App::send_one_more);
        for &side in restarters {
            self.signal_offer(side, true)?;
        }
        let limit = self.stage.now() + RESTART_TIME_MAX;
        let is_connected =
            |run: &Self, side: Side| run.apps[side.index()].is_connected(&run.stage.core(side).peer);
        while !self.signals.is_empty() || !Side::BOTH.into_iter().all(|side| is_connected(self, side)) {
            if self.stage.now() >= limit {
                return self.fail(format!("not connected {RESTART_TIME_MAX:?} after a restart"));
            }
            self.advance(Some(limit))?;
            self.turn()?;
        }
        self.is_out = false;
        Ok(())
    }

    /// For longer than consent lasts, there is no data to send: the connection persists, and few packets are
    /// sent.
    fn idle(&mut self) -> Result<(), Failure> {
        let before = Side::BOTH.map(|side| self.stage.network.stats(side).sent);
        let limit = self.stage.now() + IDLE_TIME;
        while self.stage.now() < limit {
            self.advance(Some(limit))?;
            self.turn()?;
        }
        for side in Side::BOTH {
            let packets = self.stage.network.stats(side).sent - before[side.index()];
            if packets > IDLE_PACKETS_MAX {
                return self.fail(format!("{side:?} sent {packets} packets in {IDLE_TIME:?} of silence"));
            }
        }
        Ok(())
    }

    /// One side closes; the other one is notified.
    fn finish(&mut self) -> Result<(), Failure> {
        let now = self.stage.now();
        self.is_closing = true;
        self.stage.core_mut(self.plan.closer).peer.close(now);
        self.turn()?;
        let limit = now + CLOSE_TIME_MAX;
        while !self.apps.iter().all(App::has_ended) {
            if self.stage.now() >= limit {
                return self.fail("closed by one side, and the other one does not know");
            }
            self.advance(Some(limit))?;
            self.turn()?;
        }
        for side in Side::BOTH {
            let (core, app) = (self.stage.core(side), &self.apps[side.index()]);
            if app.open_channels() > 0 {
                return self
                    .fail(format!("{side:?}: {} channels outlive the connection", app.open_channels()));
            }
            if let Some(deadline) = core.peer.next_deadline() {
                let rest = deadline.saturating_duration_since(self.stage.now());
                return self.fail(format!("{side:?} is closed, and yet has a deadline in {rest:?}"));
            }
        }
        Ok(())
    }

    fn advance(&mut self, limit: Option<Instant>) -> Result<(), Failure> {
        let start = self.stage.start();
        let action = self.plan.actions.get(self.next_action).map(|(at, ..)| start + *at);
        let signal = self.signals.front().map(|(at, ..)| *at);
        self.stage.advance(limit, action.into_iter().chain(signal))
    }

    /// Processes all events of one instant.
    fn turn(&mut self) -> Result<(), Failure> {
        while let Some(delivery) = self.stage.poll_delivery() {
            self.stage.deliver(delivery);
        }
        self.take_signals()?;
        self.act()?;
        let (now, elapsed) = (self.stage.now(), self.stage.elapsed());
        for _ in 0..ROUNDS_MAX {
            let mut happened = false;
            for side in Side::BOTH {
                self.stage.settle(side)?;
                let peer = &mut self.stage.core_mut(side).peer;
                happened |= self.apps[side.index()].pump(now, elapsed, peer, &mut self.model)?;
                self.check_alive(side)?;
            }
            if !happened {
                return Ok(());
            }
        }
        self.fail(format!("a turn of more than {ROUNDS_MAX} rounds"))
    }

    /// No connection may fail. One exception: the single datagram that announces the end is lost if the NAT
    /// has changed an address on its path and nothing has been received since; the other side then times out.
    fn check_alive(&self, side: Side) -> Result<(), Failure> {
        let Some(error) = self.apps[side.index()].failed() else { return Ok(()) };
        let rebound = self.plan.profile.rebinds.as_ref().is_some_and(|rebinds| !rebinds.is_empty());
        let silence = ["consent", "did not answer", "no pair"].iter().any(|why| error.contains(why));
        let told_in_vain = self.is_closing && side != self.plan.closer && rebound && silence;
        let may_come_back = self.is_out && !self.stage.core(side).peer.is_over();
        Failure::unless(told_in_vain || may_come_back, self.stage.elapsed(), || {
            format!("{side:?}'s connection failed: {error}")
        })
    }

    fn act(&mut self) -> Result<(), Failure> {
        let (elapsed, now) = (self.stage.elapsed(), self.stage.now());
        while let Some((_, side, action)) =
            self.plan.actions.get(self.next_action).filter(|(at, ..)| *at <= elapsed)
        {
            if !matches!(action, Action::Send(..)) {
                self.stage.log(&format!("{side:?} {action:?}"));
            }
            let offers = self.stage.core(*side).peer.has_local_offer();
            if *action == Action::Restart && !offers && self.apps.iter().all(App::was_connected) {
                self.signal_offer(*side, true)?;
            } else {
                let peer = &mut self.stage.core_mut(*side).peer;
                self.apps[side.index()]
                    .act(now, peer, action)
                    .map_err(|what| Failure::new(elapsed, format!("{side:?}: {what}")))?;
            }
            self.next_action += 1;
        }
        Ok(())
    }

    // -- signalling --

    fn signal_offer(&mut self, offerer: Side, restart: bool) -> Result<(), Failure> {
        let now = self.stage.now();
        let offer = self.stage.core_mut(offerer).peer.create_offer(now, restart);
        let offer = offer.map_err(|error| self.stage.failure(format!("{offerer:?}: {error}")))?;
        self.signal_description(offerer, offer, Signal::Offer);
        Ok(())
    }

    /// Sends a description, and its candidates separately if they trickle.
    fn signal_description(&mut self, from: Side, sdp: String, signal: fn(String) -> Signal) {
        let at = self.stage.now() + self.plan.signaling_delay;
        let to = from.other();
        if !self.plan.trickle {
            self.signals.push_back((at, to, signal(sdp)));
            return;
        }
        let candidates = self.stage.core(from).peer.local_candidates();
        let without: String = sdp
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("a=candidate") && !line.starts_with("a=end-of-candidates"))
            .collect();
        self.signals.push_back((at, to, signal(without)));
        let trickled =
            candidates.into_iter().chain([String::new()]).map(|line| (at, to, Signal::Candidate(line)));
        self.signals.extend(trickled);
    }

    fn take_signals(&mut self) -> Result<(), Failure> {
        let now = self.stage.now();
        while let Some((_, to, signal)) = self.signals.pop_front_if(|(at, ..)| *at <= now) {
            if self.is_closing {
                continue;
            }
            let passes_over = &mut self.passes_over[to.index()];
            let peer = &mut self.stage.core_mut(to).peer;
            // "Perfect negotiation": of two crossing offers, the polite side's is withdrawn and ignored by
            // the other side.
            if matches!(signal, Signal::Offer(_)) {
                let is_crossed = peer.has_local_offer();
                *passes_over = is_crossed && to != self.plan.polite;
                if is_crossed && !*passes_over {
                    peer.rollback(now).map_err(|error| self.stage.failure(format!("{to:?}: {error}")))?;
                }
            }
            match signal {
                Signal::Answer(_) => *passes_over = false,
                _ if *passes_over => continue,
                _ => {}
            }
            let peer = &mut self.stage.core_mut(to).peer;
            let taken: Result<Option<String>, SignalingError> = match &signal {
                Signal::Offer(sdp) => peer.accept_offer(now, sdp).map(Some),
                Signal::Answer(sdp) => peer.accept_answer(now, sdp).map(|()| None),
                Signal::Candidate(line) => peer.add_remote_candidate(now, line).map(|()| None),
            };
            match taken {
                Ok(Some(answer)) => self.signal_description(to, answer, Signal::Answer),
                Ok(None) => {}
                Err(error) => return self.fail(format!("{to:?}: {signal:?}: {error}")),
            }
        }
        Ok(())
    }
}

/// One certificate for each side, shared by all runs.
fn certificate(side: Side) -> Result<Arc<Certificate>, Error> {
    static CERTIFICATES: [OnceLock<Result<Arc<Certificate>, Error>>; 2] = [OnceLock::new(), OnceLock::new()];
    CERTIFICATES[side.index()].get_or_init(|| Certificate::generate().map(Arc::new)).clone()
}
