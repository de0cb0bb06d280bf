//! What the driver's thread and Python both hold of a connection and of a channel. Every lock is held for moments: no call of the system or of
//! the stack is made under it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use netdyno_rtc::core::IceState;
use netdyno_rtc::{ChannelId, ChannelOptions, ChannelState, ConnectionId, Message, PeerState};

use crate::bell::{Bell, LOW, Mailbox, ROOM};
use crate::item::Item;
use crate::limits::{DEFAULT_MESSAGE_BYTES, MESSAGE_OVERHEAD_BYTES, WAITING_BYTES};

/// A connection.
#[derive(Debug)]
pub(crate) struct SharedPeer {
    pub(crate) id: ConnectionId,
    pub(crate) bell: Arc<Bell>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// The longest message that the peer takes.
    pub(crate) max_message_bytes: AtomicU64,
    now: Mutex<Now>,
    /// Charge of the messages in all inboxes.
    waiting_bytes: AtomicUsize,
    is_paused: AtomicBool,
}

/// What is known of a connection now.
#[derive(Debug)]
pub(crate) struct Now {
    pub(crate) state: PeerState,
    pub(crate) ice: IceState,
    pub(crate) is_over: bool,
    pub(crate) failure: Option<String>,
    /// Servers that were of no use, and why, which Python has not seen.
    pub(crate) server_failures: Vec<(String, String)>,
    /// Channels that the peer opened and Python has not seen.
    pub(crate) incoming: VecDeque<Arc<SharedChannel>>,
}

impl SharedPeer {
    pub(crate) fn new(id: ConnectionId, number: u64, mailbox: Arc<Mailbox>) -> Arc<Self> {
        let now = Now {
            state: PeerState::New,
            ice: IceState::New,
            is_over: false,
            failure: None,
            server_failures: Vec::new(),
            incoming: VecDeque::new(),
        };
        Arc::new(Self {
            id,
            bell: Bell::new(number),
            mailbox,
            max_message_bytes: AtomicU64::new(DEFAULT_MESSAGE_BYTES),
            now: Mutex::new(now),
            waiting_bytes: AtomicUsize::new(0),
            is_paused: AtomicBool::new(false),
        })
    }

    pub(crate) fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self, news: u8) {
        self.mailbox.ring(&self.bell, news);
    }

    /// Whether so much waits that the connection must not be read any more; says so once.
    pub(crate) fn pauses(&self, charge: usize) -> bool {
        let waiting = self.waiting_bytes.fetch_add(charge, Ordering::SeqCst) + charge;
        if waiting <= WAITING_BYTES || self.is_paused.swap(true, Ordering::SeqCst) {
            return false;
        }
        // All may have been taken between the two, by someone who saw no pause.
        !self.resumes(0)
    }

    /// Whether enough was taken to read the connection again; says so once.
    pub(crate) fn resumes(&self, charge: usize) -> bool {
        let waiting = self.waiting_bytes.fetch_sub(charge, Ordering::SeqCst) - charge;
        waiting <= WAITING_BYTES / 2 && self.is_paused.swap(false, Ordering::SeqCst)
    }
}

/// A data channel.
#[derive(Debug)]
pub(crate) struct SharedChannel {
    pub(crate) id: ChannelId,
    pub(crate) bell: Arc<Bell>,
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
        let (bell, stream) = (Bell::new(number), OnceLock::new());
        let (out, inbox) = (Mutex::new(Outbox::default()), Mutex::default());
        Arc::new(Self { id, bell, peer, label, options, stream, out, inbox })
    }

    pub(crate) fn out(&self) -> MutexGuard<'_, Outbox> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self, news: u8) {
        self.peer.mailbox.ring(&self.bell, news);
    }

    /// Puts a message where Python finds it; true if there was none before.
    pub(crate) fn put(&self, message: Message) -> bool {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push_back(message);
        inbox.len() == 1
    }

    /// The next messages, and what they were charged.
    pub(crate) fn take(&self, max: usize) -> (Vec<Message>, usize) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let count = max.min(inbox.len());
        let messages: Vec<_> = inbox.drain(..count).collect();
        drop(inbox);
        let charged = messages.iter().map(charge).sum();
        (messages, charged)
    }

    /// So much of what was queued has left for the wire, or never will. Gives how much must have for someone to be told.
    pub(crate) fn gone(&self, bytes: u64) -> Option<u64> {
        let mut out = self.out();
        out.gone = out.gone.max(bytes);
        let gone = out.gone;
        let news =
            [(LOW, out.low_at.take_if(|at| *at <= gone)), (ROOM, out.room_at.take_if(|at| *at <= gone))];
        let next = [out.low_at, out.room_at].into_iter().flatten().min();
        drop(out);
        let news = news.iter().filter(|(_, at)| at.is_some()).fold(0, |all, (news, _)| all | news);
        if news != 0 {
            self.ring(news);
        }
        next
    }
}

pub(crate) fn charge(message: &Message) -> usize {
    message.data.len() + MESSAGE_OVERHEAD_BYTES
}

/// What is to be sent on a channel, before the driver takes it. Bytes are counted from the channel's beginning.
pub(crate) struct Outbox {
    pub(crate) state: ChannelState,
    pub(crate) queue: VecDeque<Item>,
    /// The driver has been told, or is at it.
    pub(crate) is_scheduled: bool,
    queued: u64,
    gone: u64,
    /// bufferedAmountLowThreshold.
    low: u64,
    /// When so much has gone, the low threshold is reached.
    low_at: Option<u64>,
    /// When so much has gone, there is the room that someone waits for.
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
    pub(crate) fn push(&mut self, item: Item) {
        self.queued += item.charge();
        self.queue.push_back(item);
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

    /// Whether no more than `bytes` are buffered; if not, `ROOM` will be rung when it is so, for all who wait.
    pub(crate) fn has_room(&mut self, bytes: u64) -> bool {
        if self.buffered() <= bytes {
            return true;
        }
        let at = self.queued - bytes;
        self.room_at = Some(self.room_at.map_or(at, |before| before.min(at)));
        false
    }

    /// Whether the driver must be told.
    pub(crate) fn schedules(&mut self) -> bool {
        !std::mem::replace(&mut self.is_scheduled, true)
    }
}
