//! The controller: handles incoming messages and decides what to send.

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
use crate::controller::peer::Sendable;
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

/// Discovers nodes, sends them requests and receives their notifications. One controller serves all nodes of
/// a network.
///
/// The caller passes in each message ([`handle`](Self::handle)) and the time
/// ([`handle_timeout`](Self::handle_timeout)). After each of these calls, and after each command, the caller
/// sends what [`poll_transmit`](Self::poll_transmit) returns until it returns `None`, and processes the
/// events of [`poll_event`](Self::poll_event). It then sleeps until [`next_deadline`](Self::next_deadline) or
/// the next message. If nodes use TCP, the caller also opens the connections that
/// [`poll_connect`](Self::poll_connect) requests.
///
/// Requests to one node are sent sequentially ([`NodeSettings::parallel`]), those to different nodes in
/// parallel. An answer is matched by its source (an address, ignoring the port, or a connection), its TID and
/// its SEOJ. Answers that match no request are ignored.
///
/// Costs: handling a datagram or a timer is logarithmic in the number of nodes. A request allocates the
/// memory of its answer; its other memory is reused.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    own: Device,
    peers: Peers,
    /// Nodes for which a connection is to be requested from the caller.
    connects: VecDeque<u32>,
    searching: Searching,
    events: Events,
    /// Boxed, so that moving a request between queues copies a pointer.
    spare: VecDeque<Box<Job>>,
    tid: Tid,
    serial: u64,
    /// Requests whose answers are not polled yet.
    requests: usize,
    in_flight: usize,
    /// The request that the last transmitted message belongs to.
    launched: Option<Launched>,
    stats: ControllerStats,
}

impl Controller {
    /// Creates a controller that knows no nodes.
    ///
    /// # Errors
    ///
    /// The description of its own node is invalid.
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

    /// Counters.
    pub fn stats(&self) -> ControllerStats {
        ControllerStats { dropped: self.stats.dropped + self.events.dropped, ..self.stats }
    }

    /// Its settings.
    pub fn config(&self) -> &ControllerConfig {
        &self.config
    }

    /// Its own node, which other nodes can read and write.
    pub fn own(&self) -> &Device {
        &self.own
    }

    /// Its own node: set values, announce properties, poll writes by other nodes. The controller sends its
    /// messages.
    pub fn own_mut(&mut self) -> &mut Device {
        &mut self.own
    }

    /// Sets our own addresses; call when they change. See [`ControllerConfig::own_addresses`].
    pub fn set_own_addresses(&mut self, addresses: Vec<NodeAddress>) {
        self.config.own_addresses = addresses;
    }

    /// The known state of a node.
    pub fn node(&self, address: NodeAddress) -> Option<&Node> {
        Some(&self.peers.get(self.peers.find(address)?)?.node)
    }

    /// The known nodes, in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeAddress, &Node)> {
        self.peers.iter().map(|(address, peer)| (address, &peer.node))
    }

    /// Sets the settings of a node.
    ///
    /// # Errors
    ///
    /// The node is unknown, and the limit on nodes is reached.
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

    /// Removes a node and cancels its requests. The node is added again when it next sends a message.
    pub fn forget(&mut self, node: NodeAddress) {
        let Some(peer) = self.peers.find(node).and_then(|slot| self.peers.remove(slot)) else { return };
        self.in_flight -= peer.flights.len();
        let jobs = peer.flights.into_iter().map(|flight| flight.job).chain(peer.queue);
        for job in jobs.filter(|job| job.purpose == Purpose::Application) {
            self.events.answer(job.id, node, Err(AnswerError::Cancelled));
        }
    }

    /// Searches for all nodes. [`ControllerEvent::Found`] follows for each node that is new, is present
    /// again, or has changed its objects.
    pub fn search(&mut self, now: Instant) {
        self.tid = self.tid.next();
        self.searching.start(now, self.tid, self.config.search, self.config.search_repeats);
    }

    /// Queues a request. A [`ControllerEvent::Answer`] always follows.
    ///
    /// # Errors
    ///
    /// The request is empty, too long, or addressed to all instances, or a limit is reached.
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

    /// Cancels a request, whose answer is then [`AnswerError::Cancelled`]. Returns whether the request was
    /// still unanswered. The cost is linear in the requests queued for the node.
    pub fn cancel(&mut self, now: Instant, id: RequestId) -> bool {
        let Some(peer) = self.peers.get_mut(id.slot) else { return false };
        let Some((job, in_flight)) = peer.take(id) else { return false };
        self.in_flight -= usize::from(in_flight);
        self.finish(now, id.slot, job, Err(AnswerError::Cancelled));
        self.peers.schedule(now, id.slot);
        true
    }

    /// Handles a message: a datagram, or a message of a TCP stream. An immediate reply is written to `out`;
    /// then call [`poll_transmit`](Self::poll_transmit).
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
                // Frames for objects that this node does not have are discarded.
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

    /// Handles the expiry of [`next_deadline`](Self::next_deadline). Calling it earlier is harmless.
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

    /// The next message to send, written to the start of `out`. Call it until it returns `None`. `out` must
    /// hold [`max_datagram_bytes`](crate::ControllerLimits::max_datagram_bytes), and with TCP
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

    /// The next event. Call it until it returns `None`.
    pub fn poll_event(&mut self) -> Option<ControllerEvent> {
        let event = self.events.poll();
        self.requests -= usize::from(matches!(event, Some(ControllerEvent::Answer { .. })));
        event
    }

    /// Whether [`poll_event`](Self::poll_event) would return an event.
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

    fn send(&mut self, now: Instant, slot: u32, want: Sendable, out: &mut [u8]) -> Option<Transmit> {
        let peer = self.peers.get_mut(slot)?;
        if want == Sendable::Connection {
            peer.want_connection();
            self.connects.push_back(slot);
            return None;
        }
        // A request accepted while the node used TCP may be too long for a datagram.
        let limit = if peer.is_asked_by_tcp() { out.len() } else { self.config.limits.max_datagram_bytes };
        let limit = limit.min(out.len());
        let launch = peer.launch(now, want, &mut self.tid, self.config.seoj, &mut out[..limit]);
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

    /// Handles a frame as an answer; returns whether it is one.
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

    /// Handles a notification.
    fn notified(&mut self, now: Instant, frame: &Frame<'_>, datagram: &[u8], from: NodeAddress) {
        let learn = self.config.learn || self.searching.is_answered_by(frame);
        let slot = if learn { self.add(from) } else { self.peers.find(from) };
        if let Some(slot) = slot {
            let window = self.config.duplicate_window;
            if self.peers.get_mut(slot).is_some_and(|peer| peer.is_duplicate(now, window, datagram)) {
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
            self.events.push(|| ControllerEvent::Pushed {
                node: from,
                eoj: frame.seoj,
                epc: property.epc,
                value: property.edt.to_vec(),
            });
        }
    }

    /// Records a message from a node, with its instances if given (`bool`: the list is complete). Returns
    /// whether the node was absent before.
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
            self.events.push(|| ControllerEvent::Found(address));
            if self.config.interview {
                self.begin_interview(now, slot);
            }
        }
        new
    }

    /// Records an unanswered request.
    fn failed(&mut self, slot: u32) {
        let Some(peer) = self.peers.get_mut(slot) else { return };
        if peer.failed(self.config.lost_after) {
            let address = peer.address;
            self.peers.set_lost(slot, true);
            self.events.push(|| ControllerEvent::Lost(address));
        }
    }

    /// Completes a request, which is no longer in progress.
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
                    self.events.push(|| ControllerEvent::Interviewed(address));
                }
                self.ask(now, slot, next);
            }
        }
    }
}
