//! The device: dispatch of requests, and the order of transmission.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::ops::Range;
use std::time::Instant;

use crate::address::{Destination, NodeAddress, Source, Transmit};
use crate::description::{Description, DescriptionError};
use crate::device::answer::{Execution, needs_decision};
use crate::device::config::DeviceConfig;
use crate::device::duplicates::RecentMessages;
use crate::device::event::{AbuseKind, Decision, DeviceEvent, DeviceStats, SetError, WriteId};
use crate::device::object::{Object, Stored};
use crate::device::outbox::Outbox;
use crate::device::profile;
use crate::device::senders::Senders;
use crate::device::waiting::WaitingList;
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::esv::Esv;
use crate::frame::{Frame, FrameWriter, Header};
#[cfg(doc)]
use crate::limits::MESSAGE_BYTES_MAX;
use crate::limits::{ABUSE_INTERVAL, INSTANCE_MAX, LISTED_INSTANCES_MAX};
use crate::tid::Tid;

/// The kinds of [`AbuseKind`].
const ABUSE_KINDS: usize = AbuseKind::Limited as usize + 1;

/// A request to all instances of a class that some instances have not answered yet.
#[derive(Debug)]
struct Shared {
    datagram: Vec<u8>,
    from: Source,
    objects: Range<usize>,
}

/// A node: its profile and its objects.
///
/// The caller passes in each message ([`handle`](Self::handle)) and the time
/// ([`handle_timeout`](Self::handle_timeout)), then sends what [`poll_transmit`](Self::poll_transmit) returns
/// and processes the events of [`poll_event`](Self::poll_event).
///
/// Cost of a request: parsing the frame once; a binary search among the objects; for each property one table
/// access and a copy of its value into the caller's buffer. Memory is allocated only for a request to several
/// instances of a class and for one that waits for the application, which are copied. Property maps and lists
/// of instances are computed once.
#[derive(Debug)]
pub struct Device {
    /// In ascending order, including the node profile.
    objects: Vec<Object>,
    config: DeviceConfig,
    outbox: Outbox,
    waiting: WaitingList,
    shared: VecDeque<Shared>,
    duplicates: RecentMessages,
    senders: Senders,
    /// When abuse was reported last, by kind.
    reported_at: [Option<Instant>; ABUSE_KINDS],
    /// The number of instances announced so far, during an announcement.
    announced: Option<usize>,
    tid: Tid,
    stats: DeviceStats,
}

impl Device {
    /// A node with this description and the default settings. It sends nothing until
    /// [`announce`](Self::announce).
    ///
    /// # Errors
    ///
    /// The description is inconsistent or too large.
    pub fn new(description: &Description) -> Result<Self, DescriptionError> {
        Self::with_config(description, DeviceConfig::default())
    }

    /// A node with this description.
    ///
    /// # Errors
    ///
    /// The description is inconsistent or too large.
    pub fn with_config(description: &Description, config: DeviceConfig) -> Result<Self, DescriptionError> {
        if description.objects.len() > config.max_objects {
            return Err(DescriptionError::TooMany { what: "objects", max: config.max_objects });
        }
        let profile = &description.profile;
        if ![Eoj::NODE_PROFILE, Eoj([0x0E, 0xF0, 0x02])].contains(&profile.eoj) {
            return Err(DescriptionError::NoProfile(profile.eoj));
        }
        let mut objects = vec![Object::new(profile, &profile::computed(description))?];
        for object in &description.objects {
            if object.eoj.is_profile() || !(1..=INSTANCE_MAX).contains(&object.eoj.instance()) {
                return Err(DescriptionError::NoDevice(object.eoj));
            }
            objects.push(Object::new(object, &[])?);
        }
        objects.sort_by_key(|object| object.eoj);
        if let Some(pair) = objects.windows(2).find(|pair| pair[0].eoj == pair[1].eoj) {
            return Err(DescriptionError::TwoObjects(pair[0].eoj));
        }
        Ok(Self {
            objects,
            config,
            outbox: Outbox::new(config.max_events),
            waiting: WaitingList::default(),
            shared: VecDeque::new(),
            duplicates: RecentMessages::default(),
            senders: Senders::default(),
            reported_at: [None; ABUSE_KINDS],
            announced: None,
            tid: Tid(0),
            stats: DeviceStats::default(),
        })
    }

    /// Counters.
    pub fn stats(&self) -> DeviceStats {
        DeviceStats { dropped: self.stats.dropped + self.outbox.dropped, ..self.stats }
    }

    /// Its device objects in ascending order, without the node profile.
    pub fn objects(&self) -> impl Iterator<Item = Eoj> {
        self.objects.iter().map(|object| object.eoj).filter(|eoj| !eoj.is_profile())
    }

    /// A property's value.
    pub fn get(&self, eoj: Eoj, epc: Epc) -> Option<&[u8]> {
        let object = &self.objects[self.find(eoj)?];
        object.property(epc).map(Stored::value)
    }

    /// Sets the value of a property, whatever its access; returns whether the value changed. If it changed
    /// and the property is announced, all nodes are notified.
    ///
    /// # Errors
    ///
    /// There is no such property, it is computed, or the description does not allow the value's length.
    pub fn set(&mut self, eoj: Eoj, epc: Epc, value: &[u8]) -> Result<bool, SetError> {
        let (object, place) = self.locate(eoj, epc)?;
        let property = &mut self.objects[object].properties[place];
        if property.computed {
            return Err(SetError::Computed(epc));
        }
        if !property.allows(value.len()) {
            return Err(SetError::Length { epc, bytes: value.len() });
        }
        let changed = property.write(value);
        if changed {
            self.outbox.changed(&mut self.objects[object], object, place);
        }
        Ok(changed)
    }

    /// Announces a property that did not change, as some properties require at intervals. It is sent once,
    /// with its value at the time of sending.
    ///
    /// # Errors
    ///
    /// There is no such property.
    pub fn notify(&mut self, eoj: Eoj, epc: Epc) -> Result<(), SetError> {
        let (object, place) = self.locate(eoj, epc)?;
        self.outbox.notice(&mut self.objects[object], object, place);
        Ok(())
    }

    /// Announces the node's objects (INF of D5), 84 in each message. Call it at the start (Part 2, section
    /// 4.3.1), and when the network is available again.
    pub fn announce(&mut self) {
        self.announced = Some(0);
    }

    /// Decides a waiting write; returns whether it was still waiting. Then call
    /// [`poll_transmit`](Self::poll_transmit).
    pub fn decide(&mut self, id: WriteId, decision: Decision) -> bool {
        self.waiting.decide(id, decision)
    }

    /// Handles a message: a datagram, or a message of a TCP stream. Its answer is written to `out`; then call
    /// [`poll_transmit`](Self::poll_transmit) for notifications and the answers of other instances. Answers
    /// use the transport of the request; notifications are datagrams.
    ///
    /// A buffer of 1,500 bytes suffices except for requests with very many long values, one of
    /// [`MESSAGE_BYTES_MAX`] always. Values that do not fit are refused one by one; a request whose refusal
    /// does not fit is dropped.
    pub fn handle(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: Source,
        out: &mut [u8],
    ) -> Option<Transmit> {
        if self.senders.exceeds(now, from.address, self.config.flood_per_s) {
            self.report(now, AbuseKind::Flood, from.address);
        }
        let Ok(frame) = Frame::parse(datagram) else {
            self.stats.malformed += 1;
            return None;
        };
        if from.is_off_link && frame.esv.is_request() {
            self.stats.off_link += 1;
            self.report(now, AbuseKind::OffLink, from.address);
            return None;
        }
        let mut objects = self.addressed(frame.deoj);
        // An empty request needs no answer.
        let is_empty = frame.properties.is_empty() && frame.get.is_empty();
        if !frame.esv.is_request() || objects.is_empty() || is_empty {
            self.stats.ignored += 1;
            return None;
        }
        if from.multicast
            && self.duplicates.is_duplicate(now, self.config.duplicate_window, from.address, datagram)
        {
            self.stats.ignored += 1;
            return None;
        }
        let first = objects.next()?;
        if !objects.is_empty() {
            if self.shared.len() < self.config.max_shared {
                self.shared.push_back(Shared { datagram: datagram.to_vec(), from, objects });
            } else {
                self.stats.dropped += 1;
            }
        }
        self.answer(now, &frame, datagram, from, first, out)
    }

    /// Handles the expiry of [`next_deadline`](Self::next_deadline). Calling it earlier is harmless. Then
    /// call [`poll_transmit`](Self::poll_transmit).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.waiting.handle_timeout(now);
    }

    /// The next message to send, written to the start of `out`. Call it until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        self.poll_shared(now, out)
            .or_else(|| self.poll_decided(out))
            .or_else(|| self.poll_announcement(out))
            .or_else(|| self.poll_notice(out))
    }

    /// Reports that a message could not be sent for a lasting reason, such as a missing route;
    /// [`DeviceEvent::Unsent`] follows. Do not report temporary failures: they are equivalent to packet loss.
    pub fn handle_unsent(&mut self, to: Destination, error: ErrorKind) {
        self.stats.unsent += 1;
        self.outbox.event(DeviceEvent::Unsent { to, error });
    }

    /// Reports that a TCP connection of this node was closed to admit a new one.
    pub fn handle_evicted(&mut self, now: Instant, from: NodeAddress) {
        self.stats.evicted += 1;
        self.report(now, AbuseKind::Connections, from);
    }

    /// Reports that a datagram to this node was dropped because a [`SourceLimit`](crate::SourceLimit) did not
    /// admit it.
    pub fn handle_limited(&mut self, now: Instant, from: NodeAddress) {
        self.stats.limited += 1;
        self.report(now, AbuseKind::Limited, from);
    }

    /// The next event. Call it until it returns `None`.
    pub fn poll_event(&mut self) -> Option<DeviceEvent> {
        self.outbox.poll_event()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.waiting.next_deadline()
    }

    fn report(&mut self, now: Instant, kind: AbuseKind, from: NodeAddress) {
        let reported_at = &mut self.reported_at[kind as usize];
        if reported_at.is_none_or(|at| now.saturating_duration_since(at) >= ABUSE_INTERVAL) {
            *reported_at = Some(now);
            self.outbox.event(DeviceEvent::Abuse { from, kind });
        }
    }

    fn find(&self, eoj: Eoj) -> Option<usize> {
        self.objects.binary_search_by_key(&eoj, |object| object.eoj).ok()
    }

    fn locate(&self, eoj: Eoj, epc: Epc) -> Result<(usize, usize), SetError> {
        let object = self.find(eoj).ok_or(SetError::NoObject(eoj))?;
        Ok((object, self.objects[object].place(epc).ok_or(SetError::NoProperty(epc))?))
    }

    /// The objects that a message addresses; all of a class for instance 0.
    fn addressed(&self, deoj: Eoj) -> Range<usize> {
        if !deoj.is_all_instances() {
            return self.find(deoj).map_or(0..0, |object| object..object + 1);
        }
        let start = self.objects.partition_point(|object| object.eoj < deoj);
        let length = self.objects[start..].partition_point(|object| object.eoj.class() == deoj.class());
        start..start + length
    }

    /// The answer of one object; none if the application must decide first.
    fn answer(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        datagram: &[u8],
        from: Source,
        object: usize,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let writes = matches!(frame.esv, Esv::SetI | Esv::SetC | Esv::SetGet);
        if writes && self.ask(now, frame, datagram, from, object) {
            return None;
        }
        self.finish(frame, datagram.len(), from, object, &[], out)
    }

    /// Asks the application about writes that need a decision; without room, the writes are refused. Returns
    /// whether the answer must wait.
    fn ask(&mut self, now: Instant, frame: &Frame<'_>, datagram: &[u8], from: Source, object: usize) -> bool {
        let undecided =
            || frame.properties.iter().filter(|property| needs_decision(&self.objects[object], property));
        let count = undecided().count();
        if count == 0 {
            return false;
        }
        if self.waiting.has(datagram, from, object) {
            return true;
        }
        if self.waiting.len() >= self.config.max_waiting || !self.outbox.has_room(count) {
            self.stats.dropped += 1;
            return false;
        }
        let until = now + self.config.decision_timeout;
        let first = self.waiting.add(datagram, from, object, count, until);
        for (id, property) in (first..).zip(undecided()) {
            self.outbox.event(DeviceEvent::WriteRequested {
                id: WriteId(id),
                from: from.address,
                eoj: self.objects[object].eoj,
                epc: property.epc,
                value: property.edt.to_vec(),
            });
        }
        true
    }

    fn finish(
        &mut self,
        frame: &Frame<'_>,
        request_bytes: usize,
        from: Source,
        place: usize,
        decisions: &[Decision],
        out: &mut [u8],
    ) -> Option<Transmit> {
        let (object, outbox) = (&mut self.objects[place], &mut self.outbox);
        // A source address of a datagram can be forged: the answer is not much longer than the request, or
        // fits one Ethernet frame.
        let longest = match from.connection {
            Some(_) => out.len(),
            None => out.len().min(request_bytes.max(self.config.datagram_bytes)),
        };
        let out = &mut out[..longest];
        let answering = Execution { object, place, outbox, from: from.address, decisions };
        let Ok(answered) = answering.answer(frame, out) else {
            self.stats.dropped += 1;
            return None;
        };
        self.stats.requests += 1;
        let answered = answered?;
        self.stats.refused += u64::from(answered.esv.is_refusal());
        let to = if answered.esv == Esv::Inf { Destination::Multicast } else { from.reply() };
        Some(Transmit { to, bytes: answered.bytes })
    }

    fn poll_shared(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
        while let Some(mut shared) = self.shared.pop_front() {
            let (datagram, from) = (std::mem::take(&mut shared.datagram), shared.from);
            let frame = Frame::parse(&datagram).ok()?;
            for object in shared.objects.by_ref() {
                if let Some(transmit) = self.answer(now, &frame, &datagram, from, object, out) {
                    self.shared.push_front(Shared { datagram, ..shared });
                    return Some(transmit);
                }
            }
        }
        None
    }

    fn poll_decided(&mut self, out: &mut [u8]) -> Option<Transmit> {
        while let Some(waiting) = self.waiting.next_decided() {
            let frame = Frame::parse(&waiting.datagram).ok()?;
            let (bytes, decisions) = (waiting.datagram.len(), waiting.decisions());
            let answer = self.finish(&frame, bytes, waiting.from, waiting.object, &decisions, out);
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    fn poll_announcement(&mut self, out: &mut [u8]) -> Option<Transmit> {
        let announced = self.announced.take()?;
        let (mut chunk, mut value) = ([Eoj::NODE_PROFILE; LISTED_INSTANCES_MAX], Vec::new());
        let mut count = 0;
        for (slot, eoj) in chunk.iter_mut().zip(self.objects().skip(announced)) {
            *slot = eoj;
            count += 1;
        }
        if count == LISTED_INSTANCES_MAX && self.objects().nth(announced + count).is_some() {
            self.announced = Some(announced + count);
        }
        profile::instance_list(&chunk[..count], &mut value);
        let seoj = self.objects.iter().map(|object| object.eoj).find(|eoj| eoj.is_profile())?;
        self.inform(seoj, Epc::INSTANCE_LIST_NOTIFICATION, &value, out)
    }

    fn poll_notice(&mut self, out: &mut [u8]) -> Option<Transmit> {
        while let Some((object, place)) = self.outbox.next_notice(&mut self.objects) {
            let object = &self.objects[object];
            let (seoj, property) = (object.eoj, &object.properties[place]);
            self.tid = self.tid.next();
            let bytes = inform(self.tid, seoj, property.epc, property.value(), out);
            if let Some(bytes) = bytes {
                return Some(Transmit { to: Destination::Multicast, bytes });
            }
            self.stats.dropped += 1;
        }
        None
    }

    fn inform(&mut self, seoj: Eoj, epc: Epc, value: &[u8], out: &mut [u8]) -> Option<Transmit> {
        self.tid = self.tid.next();
        let bytes = inform(self.tid, seoj, epc, value, out);
        self.stats.dropped += u64::from(bytes.is_none());
        Some(Transmit { to: Destination::Multicast, bytes: bytes? })
    }
}

/// An INF of one property; nothing if the buffer is too short.
fn inform(tid: Tid, seoj: Eoj, epc: Epc, value: &[u8], out: &mut [u8]) -> Option<usize> {
    let header = Header { tid, seoj, deoj: Eoj::NODE_PROFILE, esv: Esv::Inf };
    let mut writer = FrameWriter::new(out, header).ok()?;
    writer.property(epc, value).ok()?;
    writer.finish().ok()
}
