//! The application of one side: sends, reads, resets, and checks the events of its association.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, Event, ResetError, SendError, SendOptions, State, StreamId};

use super::model::Model;
use super::plan::{Action, Planned};
use crate::failure::Failure;
use crate::network::Side;

/// How an application's association ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// By a shutdown.
    Shutdown,
    /// By an error, in words.
    Error(String),
}

/// The application of one side.
#[derive(Debug)]
pub(super) struct App {
    side: Side,
    /// Messages that wait for buffer space, or for the reset of their stream.
    pending: VecDeque<Planned>,
    /// Reading is paused; a counter, since pauses may overlap.
    pauses: u32,
    /// `send` returned `WouldBlock`, and [`Event::Writable`] has not followed.
    blocked: bool,
    /// Streams with a requested reset.
    resetting: BTreeSet<StreamId>,
    /// [`Event::Connected`] came.
    connected: bool,
    closed: Option<Closed>,
    /// Shutting down, locally or remotely: nothing more is sent.
    ended: bool,
    streams: Vec<StreamId>,
    thresholds: BTreeMap<StreamId, usize>,
    /// Expected [`Event::BufferedAmountLow`], by stream.
    low_owed: BTreeMap<StreamId, u32>,
    /// Buffered amounts before the observed calls.
    before: Vec<usize>,
}

impl App {
    /// An application that uses these streams.
    pub(super) fn new(side: Side, mut streams: Vec<StreamId>) -> Self {
        if streams.is_empty() {
            streams.push(StreamId(0));
        }
        Self {
            side,
            pending: VecDeque::new(),
            pauses: 0,
            blocked: false,
            resetting: BTreeSet::new(),
            connected: false,
            closed: None,
            ended: false,
            before: vec![0; streams.len()],
            streams,
            thresholds: BTreeMap::new(),
            low_owed: BTreeMap::new(),
        }
    }

    pub(super) fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// A description of what it still waits for; `None` if for nothing.
    pub(super) fn waits_for(&self) -> Option<String> {
        if self.ended {
            return None;
        }
        let waits = self.blocked || !self.pending.is_empty() || !self.resetting.is_empty();
        let low_owed = self.low_owed.values().any(|owed| *owed > 0);
        (waits || low_owed || !self.connected).then(|| {
            format!(
                "{:?} waits: connected {}, {} messages to send, blocked {}, resets {:?}, owed BufferedAmountLow {:?}",
                self.side,
                self.connected,
                self.pending.len(),
                self.blocked,
                self.resetting,
                self.low_owed
            )
        })
    }

    /// Executes an action of the plan.
    pub(super) fn act(
        &mut self,
        now: Instant,
        association: &mut Association,
        model: &mut Model,
        action: &Action,
    ) -> Result<(), String> {
        match action {
            Action::Send(planned) => self.pending.push_back(*planned),
            Action::Reset(streams) => return self.reset(association, model, streams),
            // After its end an application reads all data: the peer has limited time to send the rest.
            Action::Pause if self.ended => {}
            Action::Pause => self.pauses += 1,
            Action::Resume => self.pauses = self.pauses.saturating_sub(1),
            Action::Threshold(stream, bytes) => {
                self.thresholds.insert(*stream, *bytes);
                association.set_buffered_amount_low_threshold(*stream, *bytes);
            }
            Action::Priority(stream, priority) => association.set_priority(*stream, *priority),
            Action::Shutdown => {
                // Before it is open, it cannot be shut down gracefully.
                if association.state() == State::Established {
                    (self.ended, self.pauses) = (true, 0);
                    association.shutdown(now);
                }
            }
        }
        Ok(())
    }

    /// Resumes reading, whatever the plan says.
    pub(super) fn resume(&mut self) {
        self.pauses = 0;
    }

    /// Sends one more message, beyond the plan.
    pub(super) fn send_one_more(&mut self) {
        let stream = self.streams.first().copied().unwrap_or_default();
        self.pending.push_back(Planned { stream, bytes: 1, options: SendOptions::default() });
    }

    /// No more messages.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Records the buffered amounts before calls that may change them.
    pub(super) fn watch(&mut self, association: &Association) {
        for (before, stream) in self.before.iter_mut().zip(&self.streams) {
            *before = association.buffered_amount(*stream);
        }
    }

    /// Derives the expected events from the buffered amounts before and after.
    pub(super) fn watched(&mut self, association: &Association) {
        for (before, stream) in self.before.iter().zip(&self.streams) {
            let threshold = self.thresholds.get(stream).copied().unwrap_or(0);
            if *before > threshold && association.buffered_amount(*stream) <= threshold {
                *self.low_owed.entry(*stream).or_default() += 1;
            }
        }
    }

    /// Reads, processes events and sends. Returns whether anything happened.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        at: Duration,
        association: &mut Association,
        model: &mut Model,
    ) -> Result<bool, Failure> {
        let mut happened = false;
        while let Some(message) = if self.pauses == 0 { association.recv() } else { None } {
            model.delivered(at, self.side.other(), &message)?;
            happened = true;
        }
        while let Some(event) = association.poll_event() {
            let side = self.side;
            let text = format!("{event:?}");
            self.take_event(event, association, model)
                .map_err(|what| Failure::new(at, format!("{side:?}: {text}: {what}")))?;
            happened = true;
        }
        let before = self.pending.len();
        self.send_pending(now, association, model)
            .map_err(|what| Failure::new(at, format!("{:?}: {what}", self.side)))?;
        Ok(happened || self.pending.len() != before)
    }

    fn take_event(
        &mut self,
        event: Event,
        association: &Association,
        model: &mut Model,
    ) -> Result<(), String> {
        let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        // Unread messages may be followed by later resets, even after the end.
        ensure(self.closed.is_none() || matches!(event, Event::StreamsReset(_)), "after Closed")?;
        match event {
            Event::Connected => {
                ensure(!self.connected, "a second time")?;
                self.connected = true;
            }
            Event::BufferedAmountLow(stream) => {
                let owed = self.low_owed.entry(stream).or_default();
                ensure(*owed > 0, "though the buffered amount did not fall to the threshold")?;
                *owed -= 1;
            }
            Event::Writable => {
                ensure(self.blocked, "although send did not return WouldBlock")?;
                self.blocked = false;
            }
            Event::StreamsReset(streams) => {
                ensure(!streams.is_empty(), "of no streams")?;
                for stream in streams {
                    model.reset_reported(self.side.other(), stream, self.pauses > 0)?;
                }
            }
            Event::StreamResetDone(streams) => {
                for stream in streams {
                    ensure(self.resetting.remove(&stream), "without a request")?;
                    model.reset_done(self.side, stream)?;
                }
            }
            Event::StreamResetFailed(_) => return Err("the peer has no reason to refuse".into()),
            Event::Closed(None) => self.closed = Some(Closed::Shutdown),
            Event::Closed(Some(error)) => self.closed = Some(Closed::Error(error.to_string())),
            Event::Restarted => return Err("unexpected restart".into()),
            other => return Err(format!("{other:?} is not known here")),
        }
        self.ended |= self.closed.is_some();
        ensure(self.closed.is_none() || association.state() == State::Closed, "though the state is another")
    }

    fn send_pending(
        &mut self,
        now: Instant,
        association: &mut Association,
        model: &mut Model,
    ) -> Result<(), String> {
        if self.blocked {
            return Ok(());
        }
        for _ in 0..self.pending.len() {
            let Some(planned) = self.pending.pop_front() else { break };
            if self.ended {
                continue;
            }
            let Planned { stream, bytes, options } = planned;
            if self.resetting.contains(&stream) {
                self.pending.push_back(planned);
                continue;
            }
            let (ppid, data) = model.next_message(self.side, bytes);
            match association.send(now, stream, ppid, data, options) {
                Ok(()) => model.sent(self.side, planned),
                Err(SendError::WouldBlock) => {
                    self.blocked = true;
                    self.pending.push_front(planned);
                    break;
                }
                // The peer is shutting down.
                Err(SendError::NotOpen) if association.state() != State::Established => self.ended = true,
                Err(error) => return Err(format!("send of {bytes} bytes on {stream:?}: {error}")),
            }
        }
        Ok(())
    }

    fn reset(
        &mut self,
        association: &mut Association,
        model: &mut Model,
        streams: &[StreamId],
    ) -> Result<(), String> {
        let streams: Vec<StreamId> =
            streams.iter().copied().filter(|s| !self.resetting.contains(s)).collect();
        if streams.is_empty() || self.ended {
            return Ok(());
        }
        match association.reset_streams(&streams) {
            Ok(()) => {
                streams.iter().for_each(|stream| model.reset_asked(self.side, *stream));
                self.resetting.extend(streams);
            }
            Err(ResetError::NotOpen) if association.state() != State::Established => {}
            Err(error) => return Err(format!("reset of {streams:?}: {error}")),
        }
        Ok(())
    }
}
