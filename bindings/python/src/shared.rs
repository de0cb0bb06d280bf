//! State of connections and channels that the driver's thread and Python share. Locks are held briefly,
//! without system calls and without calls of the stack.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use netdyno_rtc::core::IceState;
use netdyno_rtc::{ChannelId, ChannelOptions, ChannelState, ConnectionId, Message, PeerState};

use crate::events::{EventQueue, EventSource, LOW, ROOM};
use crate::limits::{DEFAULT_MESSAGE_BYTES, MESSAGE_OVERHEAD_BYTES, WAITING_BYTES};
use crate::outgoing::OutgoingMessage;

/// A connection.
#[derive(Debug)]
pub(crate) struct SharedPeer {
    pub(crate) id: ConnectionId,
    pub(crate) source: Arc<EventSource>,
    pub(crate) queue: Arc<EventQueue>,
    /// The longest message that the peer accepts.
    pub(crate) max_message_bytes: AtomicU64,
    now: Mutex<PeerStatus>,
    /// Charge of the messages in all inboxes.
    waiting_bytes: AtomicUsize,
    is_paused: AtomicBool,
}

/// The current status of a connection.
#[derive(Debug)]
pub(crate) struct PeerStatus {
    pub(crate) state: PeerState,
    pub(crate) ice: IceState,
    pub(crate) is_over: bool,
    pub(crate) failure: Option<String>,
    /// Server failures that Python has not seen: URLs and reasons.
    pub(crate) server_failures: Vec<(String, String)>,
    /// Channels opened by the peer that Python has not seen.
    pub(crate) incoming: VecDeque<Arc<SharedChannel>>,
}

impl SharedPeer {
    pub(crate) fn new(id: ConnectionId, number: u64, queue: Arc<EventQueue>) -> Arc<Self> {
        let now = PeerStatus {
            state: PeerState::New,
            ice: IceState::New,
            is_over: false,
            failure: None,
            server_failures: Vec::new(),
            incoming: VecDeque::new(),
        };
        Arc::new(Self {
            id,
            source: EventSource::new(number),
            queue,
            max_message_bytes: AtomicU64::new(DEFAULT_MESSAGE_BYTES),
            now: Mutex::new(now),
            waiting_bytes: AtomicUsize::new(0),
            is_paused: AtomicBool::new(false),
        })
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, PeerStatus> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn raise(&self, news: u8) {
        self.queue.raise(&self.source, news);
    }

    /// Counts a received message. Returns whether reading must pause; true once.
    pub(crate) fn pauses(&self, charge: usize) -> bool {
        let waiting = self.waiting_bytes.fetch_add(charge, Ordering::SeqCst) + charge;
        if waiting <= WAITING_BYTES || self.is_paused.swap(true, Ordering::SeqCst) {
            return false;
        }
        // All messages may have been taken between the two steps, by a reader that did not see the pause.
        !self.resumes(0)
    }

    /// Counts taken messages. Returns whether reading must resume; true once.
    pub(crate) fn resumes(&self, charge: usize) -> bool {
        let waiting = self.waiting_bytes.fetch_sub(charge, Ordering::SeqCst) - charge;
        waiting <= WAITING_BYTES / 2 && self.is_paused.swap(false, Ordering::SeqCst)
    }
}

/// A data channel.
#[derive(Debug)]
pub(crate) struct SharedChannel {
    pub(crate) id: ChannelId,
    pub(crate) source: Arc<EventSource>,
    pub(crate) peer: Arc<SharedPeer>,
    pub(crate) label: String,
    pub(crate) options: ChannelOptions,
    pub(crate) stream: OnceLock<u16>,
    out: Mutex<Outbox>,
    inbox: Mutex<VecDeque<Message>>,
}

impl SharedChannel {
    pub(crate) fn new(
        id: ChannelId,
        number: u64,
        peer: Arc<SharedPeer>,
        label: String,
        options: ChannelOptions,
    ) -> Arc<Self> {
        let (source, stream) = (EventSource::new(number), OnceLock::new());
        let (out, inbox) = (Mutex::new(Outbox::default()), Mutex::default());
        Arc::new(Self { id, source, peer, label, options, stream, out, inbox })
    }

    pub(crate) fn out(&self) -> MutexGuard<'_, Outbox> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn raise(&self, news: u8) {
        self.peer.queue.raise(&self.source, news);
    }

    /// Adds a received message; returns whether the inbox was empty before.
    pub(crate) fn put(&self, message: Message) -> bool {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push_back(message);
        inbox.len() == 1
    }

    /// Takes up to `max` messages; returns them and their charge.
    pub(crate) fn take(&self, max: usize) -> (Vec<Message>, usize) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let count = max.min(inbox.len());
        let messages: Vec<_> = inbox.drain(..count).collect();
        drop(inbox);
        let charged = messages.iter().map(charge).sum();
        (messages, charged)
    }

    /// Notes how many of the queued bytes have been sent or dropped, and raises events. Returns the next
    /// amount that raises an event.
    pub(crate) fn note_sent(&self, bytes: u64) -> Option<u64> {
        let mut out = self.out();
        out.gone = out.gone.max(bytes);
        let gone = out.gone;
        let news =
            [(LOW, out.low_at.take_if(|at| *at <= gone)), (ROOM, out.room_at.take_if(|at| *at <= gone))];
        let next = [out.low_at, out.room_at].into_iter().flatten().min();
        drop(out);
        let news = news.iter().filter(|(_, at)| at.is_some()).fold(0, |all, (news, _)| all | news);
        if news != 0 {
            self.raise(news);
        }
        next
    }
}

pub(crate) fn charge(message: &Message) -> usize {
    message.data.len() + MESSAGE_OVERHEAD_BYTES
}

/// Messages to send that the driver has not taken. Bytes are counted since the channel was created.
pub(crate) struct Outbox {
    pub(crate) state: ChannelState,
    pub(crate) queue: VecDeque<OutgoingMessage>,
    /// The channel is queued in the driver, or the driver is processing it.
    pub(crate) is_scheduled: bool,
    queued: u64,
    gone: u64,
    /// bufferedAmountLowThreshold.
    low: u64,
    /// The value of `gone` at which the buffered amount reaches the low threshold.
    low_at: Option<u64>,
    /// The value of `gone` at which there is the space that a coroutine waits for.
    room_at: Option<u64>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            state: ChannelState::Connecting,
            queue: VecDeque::new(),
            is_scheduled: false,
            queued: 0,
            gone: 0,
            low: 0,
            low_at: None,
            room_at: None,
        }
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("state", &self.state).field("buffered", &self.buffered()).finish()
    }
}

impl Outbox {
    pub(crate) fn push(&mut self, message: OutgoingMessage) {
        self.queued += message.charge();
        self.queue.push_back(message);
        if self.buffered() > self.low {
            self.low_at = Some(self.queued - self.low);
        }
    }

    pub(crate) fn buffered(&self) -> u64 {
        self.queued - self.gone
    }

    pub(crate) fn low(&self) -> u64 {
        self.low
    }

    pub(crate) fn set_low(&mut self, low: u64) {
        self.low = low;
        self.low_at = (self.buffered() > low).then(|| self.queued - low);
    }

    /// Whether at most `bytes` are buffered; if not, `ROOM` will be raised for all waiting coroutines.
    pub(crate) fn has_room(&mut self, bytes: u64) -> bool {
        if self.buffered() <= bytes {
            return true;
        }
        let at = self.queued - bytes;
        self.room_at = Some(self.room_at.map_or(at, |before| before.min(at)));
        false
    }

    /// Whether the driver must be notified.
    pub(crate) fn schedules(&mut self) -> bool {
        !std::mem::replace(&mut self.is_scheduled, true)
    }
}
