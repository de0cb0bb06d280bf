//! The controller: what is done with what comes, and what is sent next.

mod questions;
mod tcp;
mod unsent;

use std::collections::VecDeque;
use std::time::Instant;

use crate::address::{NodeAddress, Source, Transmit};
use crate::controller::config::{ControllerConfig, NodeSettings};
use crate::controller::event::{ControllerEvent, ControllerStats};
use crate::controller::events::Events;
use crate::controller::job::{Job, Progress, Purpose};
use crate::controller::node::Node;
use crate::controller::peer::Want;
use crate::controller::peers::Peers;
use crate::controller::request::{AnswerError, Request, RequestError, RequestId};
use crate::controller::search::Searching;
use crate::description::DescriptionError;
use crate::device::Device;
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::esv::Esv;
use crate::frame::Frame;
use crate::limits::SPARE_JOBS;
use crate::tid::Tid;

pub use tcp::Connect;
use unsent::Launched;

/// Finds nodes, asks them, hears them; one for all nodes of a network.
///
/// The caller hands over each message ([`handle`](Self::handle)) and says when time has passed
/// ([`handle_timeout`](Self::handle_timeout)). After each of these, and after each command, it sends what
/// [`poll_transmit`](Self::poll_transmit) gives until there is nothing, then looks at what
/// [`poll_event`](Self::poll_event) tells, and sleeps until [`next_deadline`](Self::next_deadline) or the next
/// message. Where nodes are asked by TCP, it also makes the connections that [`poll_connect`](Self::poll_connect) asks for.
///
/// Requests to one node go out one after the other ([`NodeSettings::parallel`]), those to different nodes side by
/// side. An answer is known by the way that it comes (an address, where the port does not count, or a connection), its TID and
/// its SEOJ; what nobody awaits is ignored.
///
/// Costs: a datagram and a timer take steps logarithmic in the number of nodes, never a look at all of them. A request
/// allocates what its answer holds; the rest of its memory is used again.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    own: Device,
    peers: Peers,
    /// Nodes that the caller is to be asked for connections to.
    connects: VecDeque<u32>,
    searching: Searching,
    events: Events,
    /// In boxes, so that a request on its way through queues is not copied each time.
    spare: VecDeque<Box<Job>>,
    tid: Tid,
    serial: u64,
    /// Requests whose answers were not polled.
    requests: usize,
    in_flight: usize,
    /// The request that the last message is of.
    launched: Option<Launched>,
    stats: ControllerStats,
}

impl Controller {
    /// A controller that knows no node.
    ///
    /// # Errors
    ///
    /// Its own node's description is wrong.
    pub fn new(config: ControllerConfig) -> Result<Self, DescriptionError> {
        Ok(Self {
            own: Device::new(&config.node)?,
            peers: Peers::default(),
            connects: VecDeque::new(),
            searching: Searching::default(),
            events: Events::new(config.limits.max_events),
            spare: VecDeque::new(),
            tid: Tid(0),
            serial: 0,
            requests: 0,
            in_flight: 0,
            launched: None,
            stats: ControllerStats::default(),
            config,
        })
    }

    /// What it counted.
    pub fn stats(&self) -> ControllerStats {
        ControllerStats { dropped: self.stats.dropped + self.events.dropped, ..self.stats }
    }

    /// Its settings.
    pub fn config(&self) -> &ControllerConfig {
        &self.config
    }

    /// Its own node, which others read and write as any.
    pub fn own(&self) -> &Device {
        &self.own
    }

    /// Its own node, to set values, announce, and poll what others wrote. What it has to send, the controller sends.
    pub fn own_mut(&mut self) -> &mut Device {
        &mut self.own
    }

    /// Tells which addresses are ours, whenever they change. See [`ControllerConfig::own_addresses`].
    pub fn set_own_addresses(&mut self, addresses: Vec<NodeAddress>) {
        self.config.own_addresses = addresses;
    }

    /// What is known of a node.
    pub fn node(&self, address: NodeAddress) -> Option<&Node> {
        Some(&self.peers.get(self.peers.find(address)?)?.node)
    }

    /// The nodes that are known, in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeAddress, &Node)> {
        self.peers.iter().map(|(address, peer)| (address, &peer.node))
    }

    /// Treats a node in its own way from now on.
    ///
    /// # Errors
    ///
    /// The node is not known, and as many as allowed are.
    pub fn set_node_settings(
        &mut self,
        node: NodeAddress,
        settings: NodeSettings,
    ) -> Result<(), RequestError> {
        let slot = self.add(node).ok_or(RequestError::TooManyNodes)?;
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.set_settings(settings);
        }
        Ok(())
    }

    /// Forgets a node; its requests end as cancelled. If it sends anything, it is known again.
    pub fn forget(&mut self, node: NodeAddress) {
        let Some(peer) = self.peers.find(node).and_then(|slot| self.peers.remove(slot)) else { return };
        self.in_flight -= peer.flights.len();
        let jobs = peer.flights.into_iter().map(|flight| flight.job).chain(peer.queue);
        for job in jobs.filter(|job| job.purpose == Purpose::Application) {
            self.events.answer(job.id, node, Err(AnswerError::Cancelled));
        }
    }

    /// Asks all nodes who they are. [`ControllerEvent::Found`] comes for each that was not known, is back, or has other
    /// objects than before.
    pub fn search(&mut self, now: Instant) {
        self.tid = self.tid.next();
        self.searching.start(now, self.tid, self.config.search, self.config.search_repeats);
    }

    /// Queues a request. Its [`ControllerEvent::Answer`] comes in any case.
    ///
    /// # Errors
    ///
    /// It is empty, too long, for all instances, or there are too many.
    pub fn request(
        &mut self,
        now: Instant,
        node: NodeAddress,
        deoj: Eoj,
        request: Request<'_>,
    ) -> Result<RequestId, RequestError> {
        if self.requests >= self.config.limits.max_requests {
            return Err(RequestError::QueueFull);
        }
        let mut job = self.spare.pop_back().unwrap_or_default();
        job.fill(deoj, request, self.longest(node))?;
        let slot = self.add(node).ok_or(RequestError::TooManyNodes)?;
        self.serial += 1;
        self.requests += 1;
        job.id = RequestId { serial: self.serial, slot };
        job.purpose = Purpose::Application;
        let id = job.id;
        self.queue(now, slot, job);
        Ok(id)
    }

    /// Ends a request, whose answer is then [`AnswerError::Cancelled`]; says whether it still was to be answered. Looks
    /// through what waits for the node.
    pub fn cancel(&mut self, now: Instant, id: RequestId) -> bool {
        let Some(peer) = self.peers.get_mut(id.slot) else { return false };
        let Some((job, in_flight)) = peer.take(id) else { return false };
        self.in_flight -= usize::from(in_flight);
        self.finish(now, id.slot, job, Err(AnswerError::Cancelled));
        self.peers.schedule(now, id.slot);
        true
    }

    /// Takes a message: a datagram, or one of a TCP stream. What it is to be answered with at once stands in `out`; then ask
    /// [`poll_transmit`](Self::poll_transmit) for more.
    pub fn handle(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: Source,
        out: &mut [u8],
    ) -> Option<Transmit> {
        self.launched = None;
        if self.config.own_addresses.contains(&from.address) {
            return None;
        }
        let Ok(frame) = Frame::parse(datagram) else {
            self.stats.malformed += 1;
            return None;
        };
        match frame.esv {
            Esv::InfC => {
                // For an object that we do not have it is discarded.
                let answer = self.own.handle(now, datagram, from, out)?;
                self.notified(now, &frame, datagram, from.address);
                Some(answer)
            }
            esv if esv.is_request() => self.own.handle(now, datagram, from, out),
            esv => {
                if self.answered(now, &frame, from) {
                    return None;
                }
                if esv == Esv::Inf {
                    self.notified(now, &frame, datagram, from.address);
                } else if let Some(instances) = self.searching.answer(&frame) {
                    if let Some(slot) = self.add(from.address) {
                        self.learn(now, slot, Some((instances, true)));
                    }
                } else {
                    self.stats.unexpected += 1;
                }
                None
            }
        }
    }

    /// Time has come to [`next_deadline`](Self::next_deadline); harmless before.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.own.handle_timeout(now);
        while let Some(slot) = self.peers.due(now) {
            while let Some(job) = self.peers.get_mut(slot).and_then(|peer| peer.overdue(now)) {
                self.in_flight -= 1;
                self.stats.timeouts += 1;
                self.failed(slot);
                self.finish(now, slot, job, Err(AnswerError::Timeout));
            }
            self.peers.schedule(now, slot);
        }
    }

    /// The next message to send, written to the start of `out`; call until there is none. `out` must have room for
    /// [`max_datagram_bytes`](crate::ControllerLimits::max_datagram_bytes), and with TCP for
    /// [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX).
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        self.launched = None;
        if let Some(transmit) = self.own.poll_transmit(now, out) {
            return Some(transmit);
        }
        let ControllerConfig { search, search_interval, seoj, .. } = self.config;
        if let Some(transmit) = self.searching.poll(now, search, search_interval, seoj, out) {
            return Some(transmit);
        }
        loop {
            let full = self.in_flight >= self.config.limits.max_in_flight;
            let (slot, want) = self.peers.next_ready(now, full)?;
            let sent = self.send(now, slot, want, out);
            self.peers.schedule(now, slot);
            if sent.is_some() {
                return sent;
            }
        }
    }

    /// What happened; call until there is nothing more.
    pub fn poll_event(&mut self) -> Option<ControllerEvent> {
        let event = self.events.poll();
        self.requests -= usize::from(matches!(event, Some(ControllerEvent::Answer { .. })));
        event
    }

    /// Whether [`poll_event`](Self::poll_event) has something to tell.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        let all = [self.own.next_deadline(), self.searching.next_deadline(), self.peers.next_deadline()];
        all.into_iter().flatten().min()
    }

    fn add(&mut self, node: NodeAddress) -> Option<u32> {
        let slot = self.peers.find_or_add(node, self.config.defaults, self.config.limits.max_nodes);
        self.stats.dropped += u64::from(slot.is_none());
        slot
    }

    fn queue(&mut self, now: Instant, slot: u32, job: Box<Job>) {
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.queue.push_back(job);
        }
        self.peers.schedule(now, slot);
    }

    fn send(&mut self, now: Instant, slot: u32, want: Want, out: &mut [u8]) -> Option<Transmit> {
        let peer = self.peers.get_mut(slot)?;
        if want == Want::Connection {
            peer.want_connection();
            self.connects.push_back(slot);
            return None;
        }
        // What was taken since it was to go by TCP may be too long for a datagram.
        let room = if peer.is_asked_by_tcp() { out.len() } else { self.config.limits.max_datagram_bytes };
        let room = room.min(out.len());
        let launch = peer.launch(now, want, &mut self.tid, self.config.seoj, &mut out[..room]);
        let to = peer.destination();
        self.in_flight += usize::from(launch.begun);
        self.in_flight -= usize::from(launch.ended);
        if launch.bytes.is_some() {
            self.stats.sent += 1;
            self.stats.retried += u64::from(launch.again);
            let over = launch.over.as_ref().map(|(job, _)| job.id);
            self.launched = Some(Launched { slot, tid: launch.tid, over });
        }
        if let Some((job, result)) = launch.over {
            self.finish(now, slot, job, result);
        }
        Some(Transmit { to: to?, bytes: launch.bytes? })
    }

    /// Takes a frame as an answer; says whether it is one.
    fn answered(&mut self, now: Instant, frame: &Frame<'_>, from: Source) -> bool {
        let Some(slot) = self.peers.find(from.address) else { return false };
        let Some(peer) = self.peers.get_mut(slot) else { return false };
        let Some(mut job) = peer.answered(frame, from) else { return false };
        self.in_flight -= 1;
        self.stats.answered += 1;
        self.learn(now, slot, None);
        let Some(peer) = self.peers.get_mut(slot) else { return true };
        let progress = job.take(frame, self.config.split, self.config.limits.max_answer_bytes);
        match progress {
            Progress::More => peer.queue.push_front(job),
            Progress::TooLong => self.finish(now, slot, job, Err(AnswerError::TooLong)),
            Progress::Done => {
                if let Some(limit) = job.learned_limit() {
                    peer.learn_limit(limit);
                }
                self.finish(now, slot, job, Ok(()));
            }
        }
        self.peers.schedule(now, slot);
        true
    }

    /// A node told values.
    fn notified(&mut self, now: Instant, frame: &Frame<'_>, datagram: &[u8], from: NodeAddress) {
        let learn = self.config.learn || self.searching.is_answered_by(frame);
        let slot = if learn { self.add(from) } else { self.peers.find(from) };
        if let Some(slot) = slot {
            let window = self.config.duplicate_window;
            if self.peers.get_mut(slot).is_some_and(|peer| peer.heard_before(now, window, datagram)) {
                self.stats.duplicates += 1;
                return;
            }
            let from_profile = frame.seoj.class() == Eoj::NODE_PROFILE.class();
            let list = frame.properties.find(Epc::INSTANCE_LIST_NOTIFICATION).filter(|_| from_profile);
            let new = self.learn(now, slot, list.map(|property| (property.edt, false)));
            let peer = self.peers.get(slot);
            let gone = list.is_some_and(|list| peer.is_some_and(|peer| peer.node.has_more_than(list.edt)));
            if gone || new && list.is_none() {
                self.refresh(now, slot);
            }
        }
        for property in frame.properties {
            self.events.tell(|| ControllerEvent::Pushed {
                node: from,
                eoj: frame.seoj,
                epc: property.epc,
                value: property.edt.to_vec(),
            });
        }
    }

    /// Something came from a node, perhaps with its instances (and whether these are all). Says whether it was not there before.
    fn learn(&mut self, now: Instant, slot: u32, instances: Option<(&[u8], bool)>) -> bool {
        let max = self.config.limits.max_instances;
        let Some(peer) = self.peers.get_mut(slot) else { return false };
        let new = peer.heard();
        let (changed, dropped) =
            instances.map_or((false, 0), |(value, all)| peer.node.learn_instances(value, all, max));
        let address = peer.address;
        self.stats.dropped += dropped;
        if new {
            self.peers.set_lost(slot, false);
        }
        if new || changed {
            self.events.tell(|| ControllerEvent::Found(address));
            if self.config.interview {
                self.begin_interview(now, slot);
            }
        }
        new
    }

    /// A request had no answer.
    fn failed(&mut self, slot: u32) {
        let Some(peer) = self.peers.get_mut(slot) else { return };
        if peer.failed(self.config.lost_after) {
            let address = peer.address;
            self.peers.set_lost(slot, true);
            self.events.tell(|| ControllerEvent::Lost(address));
        }
    }

    /// A request is over, and is under way no more.
    fn finish(&mut self, now: Instant, slot: u32, mut job: Box<Job>, result: Result<(), AnswerError>) {
        let answer = std::mem::take(&mut job.answer);
        let (id, purpose, deoj) = (job.id, job.purpose, job.deoj);
        if self.spare.len() < SPARE_JOBS {
            self.spare.push_back(job);
        }
        let Some(peer) = self.peers.get_mut(slot) else { return };
        let address = peer.address;
        match purpose {
            Purpose::Application => self.events.answer(id, address, result.map(|()| answer)),
            Purpose::Refresh => {
                let next = peer.interview.refreshed();
                if let Some(value) = answer.get(Epc::INSTANCE_LIST) {
                    self.learn(now, slot, Some((value, true)));
                }
                self.ask(now, slot, next);
            }
            Purpose::Interview => {
                let next = peer.interviewed(deoj, result.is_ok().then_some(&answer));
                if next.is_none() {
                    self.events.tell(|| ControllerEvent::Interviewed(address));
                }
                self.ask(now, slot, next);
            }
        }
    }
}
