//! The application of one side: creates channels, sends, reads, closes, and checks the events of its peer
//! connection.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use netdyno_rtc_core::{ChannelId, ChannelState, Event, Kind, PeerConnection, PeerState, SendError};

use super::model::Model;
use super::plan::{Action, NUMBER_BYTES, PlannedChannel};
use crate::failure::Failure;
use crate::network::Side;

/// Work that waits until its channel accepts it.
#[derive(Debug, Clone, Copy)]
enum Pending {
    Message(Kind, usize),
    Close,
}

/// The state of a channel, from one application's point of view.
#[derive(Debug, Default)]
struct Known {
    id: Option<ChannelId>,
    open: bool,
    /// Closed by either application, or by the end of the connection.
    closed: bool,
    /// Closed by this application.
    closing: bool,
    pending: VecDeque<Pending>,
}

/// The application of one side.
#[derive(Debug)]
pub(super) struct App {
    side: Side,
    planned: Vec<PlannedChannel>,
    known: Vec<Known>,
    by_id: BTreeMap<ChannelId, usize>,
    pauses: u32,
    /// `send` returned `WouldBlock`, and [`Event::Writable`] has not followed.
    blocked: bool,
    connected: bool,
    failed: Option<String>,
    ended: bool,
}

impl App {
    pub(super) fn new(side: Side, planned: &[PlannedChannel]) -> Self {
        let known = planned.iter().map(|_| Known::default()).collect();
        Self {
            side,
            planned: planned.to_vec(),
            known,
            by_id: BTreeMap::new(),
            pauses: 0,
            blocked: false,
            connected: false,
            failed: None,
            ended: false,
        }
    }

    /// Whether the connection was ever established.
    pub(super) fn was_connected(&self) -> bool {
        self.connected
    }

    /// Whether the connection has ended, according to its events.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Why the connection failed.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// A description of what it still waits for.
    pub(super) fn waits_for(&self) -> Option<String> {
        if !self.connected || self.blocked {
            return Some(format!("{:?}: connected {}, blocked {}", self.side, self.connected, self.blocked));
        }
        self.known.iter().enumerate().find_map(|(number, known)| {
            let waits =
                if known.closed { false } else { known.closing || !known.open || !known.pending.is_empty() };
            waits.then(|| format!("{:?}: channel {number}: {known:?}", self.side))
        })
    }

    /// Bytes waiting to be sent, of any reliability.
    pub(super) fn buffered_bytes(&self, peer: &PeerConnection) -> usize {
        self.known.iter().filter_map(|known| known.id).map(|id| peer.buffered_amount(id)).sum()
    }

    /// Channels without a close event.
    pub(super) fn open_channels(&self) -> usize {
        self.known.iter().filter(|known| known.id.is_some() && !known.closed).count()
    }

    /// Executes an action of the plan; the scenario handles restarts.
    pub(super) fn act(
        &mut self,
        now: Instant,
        peer: &mut PeerConnection,
        action: &Action,
    ) -> Result<(), String> {
        match action {
            Action::Create(number) => {
                let options = self.planned[*number].options.clone();
                let made = peer.create_channel(now, &number.to_string(), options);
                let id = made.map_err(|error| format!("channel {number}: {error}"))?;
                self.know(*number, id)?;
            }
            Action::Send(number, kind, bytes) => {
                self.known[*number].pending.push_back(Pending::Message(*kind, *bytes));
            }
            Action::CloseChannel(number) => self.known[*number].pending.push_back(Pending::Close),
            Action::Pause => self.pauses += 1,
            Action::Resume => self.pauses = self.pauses.saturating_sub(1),
            Action::Restart => {}
        }
        Ok(())
    }

    /// Resumes reading, whatever the plan says.
    pub(super) fn resume(&mut self) {
        self.pauses = 0;
    }

    /// Whether the connection is up, according to its events.
    pub(super) fn is_connected(&self, peer: &PeerConnection) -> bool {
        self.failed.is_none() && peer.state() == PeerState::Connected
    }

    /// Sends one more message, if there is a channel for it.
    pub(super) fn send_one_more(&mut self) {
        if let Some(known) = self.known.iter_mut().find(|known| known.open && !known.closed && !known.closing)
        {
            known.pending.push_back(Pending::Message(Kind::Binary, NUMBER_BYTES));
        }
    }

    /// Reads, processes events and sends. Returns whether anything happened.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        at: Duration,
        peer: &mut PeerConnection,
        model: &mut Model,
    ) -> Result<bool, Failure> {
        let mut happened = false;
        while let Some(event) = peer.poll_event() {
            let (side, text) = (self.side, format!("{event:?}"));
            self.take_event(event, peer)
                .map_err(|what| Failure::new(at, format!("{side:?}: {text}: {what}")))?;
            happened = true;
        }
        while let Some(message) = if self.pauses == 0 { peer.recv() } else { None } {
            let Some(number) = self.by_id.get(&message.channel) else {
                let what =
                    format!("{:?}: a message on {:?}, which was not announced", self.side, message.channel);
                return Err(Failure::new(at, what));
            };
            model.delivered(at, self.side.other(), *number, &message)?;
            happened = true;
        }
        let sent = self.send_pending(now, peer, model);
        Ok(happened | sent.map_err(|what| Failure::new(at, format!("{:?}: {what}", self.side)))?)
    }

    fn know(&mut self, number: usize, id: ChannelId) -> Result<(), String> {
        if self.known[number].id.replace(id).is_some() || self.by_id.insert(id, number).is_some() {
            return Err(format!("channel {number} came twice"));
        }
        Ok(())
    }

    fn take_event(&mut self, event: Event, peer: &PeerConnection) -> Result<(), String> {
        match event {
            Event::State(PeerState::Connected) => (self.connected, self.failed) = (true, None),
            Event::State(PeerState::Closed | PeerState::Failed) => self.ended = peer.is_over(),
            Event::State(_) | Event::Ice(_) | Event::BufferedAmountLow(_) => {}
            Event::Incoming(id) => {
                let number: usize =
                    peer.label(id).parse().map_err(|_| format!("label {:?}", peer.label(id)))?;
                let planned = self.planned.get(number).ok_or("unknown label")?;
                if planned.maker == self.side || planned.options.negotiated.is_some() {
                    return Err("the peer did not make this channel".into());
                }
                if peer.channel_options(id) != Some(&planned.options) {
                    return Err(format!(
                        "has {:?}, made with {:?}",
                        peer.channel_options(id),
                        planned.options
                    ));
                }
                self.know(number, id)?;
            }
            Event::Open(id) => {
                let known = self.known(id)?;
                if known.open || peer.channel_state(id) == ChannelState::Connecting {
                    return Err(format!("state {:?}, opened before {}", peer.channel_state(id), known.open));
                }
                known.open = true;
            }
            Event::Writable => {
                if !self.blocked {
                    return Err("although send did not return WouldBlock".into());
                }
                self.blocked = false;
            }
            Event::ChannelClosed(id) => {
                let known = self.known(id)?;
                if known.closed || peer.channel_state(id) != ChannelState::Closed {
                    return Err(format!(
                        "state {:?}, closed before {}",
                        peer.channel_state(id),
                        known.closed
                    ));
                }
                known.closed = true;
            }
            Event::Failed(error) => self.failed = Some(error.to_string()),
            other => return Err(format!("{other:?} is not known here")),
        }
        Ok(())
    }

    fn known(&mut self, id: ChannelId) -> Result<&mut Known, String> {
        let number = self.by_id.get(&id).ok_or("of a channel that was not announced")?;
        Ok(&mut self.known[*number])
    }

    fn send_pending(
        &mut self,
        now: Instant,
        peer: &mut PeerConnection,
        model: &mut Model,
    ) -> Result<bool, String> {
        let mut happened = false;
        for (number, known) in self.known.iter_mut().enumerate() {
            let Some(id) = known.id.filter(|_| known.open) else { continue };
            while let Some(&pending) = known.pending.front() {
                if known.closed || known.closing {
                    known.pending.clear();
                    break;
                }
                match pending {
                    Pending::Close => {
                        known.closing = true;
                        model.closed(self.side, number);
                        peer.close_channel(now, id);
                    }
                    Pending::Message(..) if self.blocked => break,
                    Pending::Message(kind, bytes) => {
                        let message = model.next_message(self.side, number, bytes);
                        match peer.send(now, id, kind, &message) {
                            Ok(()) => model.sent(self.side, number, kind, bytes),
                            Err(SendError::WouldBlock) => {
                                self.blocked = true;
                                break;
                            }
                            // The peer is closing it.
                            Err(SendError::Closed) if peer.channel_state(id) != ChannelState::Open => {
                                known.pending.clear();
                                break;
                            }
                            Err(error) => return Err(format!("send of {bytes} bytes on {number}: {error}")),
                        }
                    }
                }
                known.pending.pop_front();
                happened = true;
            }
        }
        Ok(happened)
    }
}
