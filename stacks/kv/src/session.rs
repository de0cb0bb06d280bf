//! Sessions: the engine's state of each connection.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;

use netdyno_resp::{Protocol, Reply};

use crate::error::Error;
use crate::held::{Buffers, Held, Refusals, WatchedKey};
use crate::limits::{
    ALLOCATION_BYTES, PUSH_BYTES_MAX, SESSIONS_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_COMMANDS_MAX,
};
use crate::spec::Flags;
use crate::timestamp::Timestamp;

/// Identifies a session; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    index: u32,
    generation: u32,
}

/// The next step after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Execute the next command.
    Continue,
    /// Close the connection after sending its output.
    Close,
    /// Wait for [`Output::Resume`] before the next command.
    Blocked,
}

/// Output from [`crate::Engine::poll_output`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send these bytes: published messages.
    Bytes(Vec<u8>),
    /// Send these bytes, the reply of the blocked command, then continue with the next one.
    Resume(Vec<u8>),
    /// Send these bytes, then close the connection.
    Close(Vec<u8>),
    /// Close the connection immediately and discard its output: it exceeded a limit.
    Abort,
}

/// Commands queued between MULTI and EXEC. `Debug` does not reveal their arguments, which may be passwords.
#[derive(Default)]
pub(crate) struct Transaction {
    pub(crate) commands: Vec<Owned>,
    pub(crate) bytes: usize,
    /// Flags of the queued commands, which EXEC checks again.
    pub(crate) flags: Flags,
    /// A queued command cannot run while a copy is loaded.
    pub(crate) needs_data: bool,
    /// A queued command was refused, so EXEC will fail.
    pub(crate) spoiled: bool,
}

impl fmt::Debug for Transaction {
    /// Without the arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("commands", &self.commands.len())
            .field("bytes", &self.bytes)
            .field("spoiled", &self.spoiled)
            .finish_non_exhaustive()
    }
}

impl Transaction {
    /// Queues a command.
    pub(crate) fn queue(&mut self, args: &[&[u8]]) -> Result<(), Error> {
        let bytes = owned_bytes(args);
        self.bytes += bytes;
        if self.commands.len() >= TRANSACTION_COMMANDS_MAX || self.bytes > TRANSACTION_BYTES_MAX {
            self.bytes -= bytes;
            return Err(Error::fixed("ERR transaction is too large, send EXEC or DISCARD"));
        }
        self.commands.push(owned(args));
        Ok(())
    }
}

/// Owned arguments.
pub(crate) type Owned = Box<[Box<[u8]>]>;

/// Borrows owned arguments as a slice of a command's arguments.
pub(crate) fn borrowed(args: &Owned) -> Vec<&[u8]> {
    args.iter().map(|arg| &arg[..]).collect()
}

pub(crate) fn owned(args: &[&[u8]]) -> Owned {
    args.iter().map(|arg| Box::from(*arg)).collect()
}

/// The memory of owned arguments.
pub(crate) fn owned_bytes<T: AsRef<[u8]>>(args: &[T]) -> usize {
    let each = size_of::<Box<[u8]>>() + ALLOCATION_BYTES;
    size_of::<Owned>() + ALLOCATION_BYTES + args.iter().map(|arg| arg.as_ref().len() + each).sum::<usize>()
}

/// The reaction to a wait that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTimeout {
    Null,
    NullArray,
    /// The command was delayed by a pause and runs now.
    Run,
    /// The wait has no deadline.
    Never,
    /// Replies with the number of acknowledging replicas.
    Count,
}

/// A command that waits for keys or for a time. `Debug` does not reveal its arguments.
pub(crate) struct Blocked {
    pub(crate) args: Owned,
    pub(crate) db: usize,
    pub(crate) keys: Vec<Box<[u8]>>,
    pub(crate) deadline: Option<u64>,
    pub(crate) on_timeout: OnTimeout,
}

impl fmt::Debug for Blocked {
    /// Without the arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocked")
            .field("keys", &self.keys.len())
            .field("deadline", &self.deadline)
            .field("on_timeout", &self.on_timeout)
            .finish_non_exhaustive()
    }
}

/// `CLIENT REPLY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReplyMode {
    #[default]
    On,
    Off,
    /// Skip the reply of the next command; skip this one.
    SkipNext,
    Skip,
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) number: u64,
    pub(crate) id: SessionId,
    pub(crate) peer: Box<str>,
    /// The local address.
    pub(crate) local: Option<SocketAddr>,
    /// Sizes of the host's buffers, as last set by the host.
    pub(crate) buffers: Buffers,
    pub(crate) held: Held,
    pub(crate) name: Box<[u8]>,
    pub(crate) library: Box<[u8]>,
    pub(crate) library_version: Box<[u8]>,
    pub(crate) protocol: Protocol,
    pub(crate) db: usize,
    pub(crate) user: Box<str>,
    pub(crate) authenticated: bool,
    /// The user may do everything, so checks are skipped.
    pub(crate) unrestricted: bool,
    /// The session applies the changes of a primary.
    pub(crate) is_primary: bool,
    /// The session is a replica that has requested the changes (PSYNC).
    pub(crate) is_replica: bool,
    pub(crate) transaction: Option<Box<Transaction>>,
    pub(crate) watched: BTreeSet<WatchedKey>,
    pub(crate) channels: BTreeSet<Box<[u8]>>,
    pub(crate) patterns: BTreeSet<Box<[u8]>>,
    pub(crate) shard_channels: BTreeSet<Box<[u8]>>,
    pub(crate) blocked: Option<Box<Blocked>>,
    pub(crate) reply_mode: ReplyMode,
    pub(crate) no_evict: bool,
    /// Reads do not update access information.
    pub(crate) no_touch: bool,
    pub(crate) opened_ms: u64,
    pub(crate) active_ms: u64,
    pub(crate) last_command: (&'static str, Option<&'static str>),
    /// Output for the session from other sessions.
    pending: Vec<u8>,
    queued: bool,
    /// The blocked command has finished; report this with the pending output.
    resumed: bool,
    pub(crate) closing: bool,
    /// Close the connection without sending output.
    aborted: bool,
}

impl Session {
    pub(crate) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Size of the output that the host has not collected.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Discards its output and closes it.
    pub(crate) fn abort(&mut self) {
        self.pending = Vec::new();
        (self.closing, self.aborted) = (true, true);
    }

    /// Whether only the commands of a RESP2 subscriber are allowed.
    pub(crate) fn only_listens(&self) -> bool {
        self.protocol == Protocol::Resp2 && self.subscriptions() + self.shard_channels.len() > 0
    }
}

/// All sessions and their pending output.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    slots: Vec<(u32, Option<Box<Session>>)>,
    free: Vec<u32>,
    queue: VecDeque<SessionId>,
    opened: u64,
    len: usize,
    /// Memory that all sessions hold, as of the last update of each.
    pub(crate) held_bytes: usize,
    pub(crate) refusals: Refusals,
}

impl Sessions {
    pub(crate) fn open(&mut self, now: Timestamp, peer: &str) -> SessionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        self.opened += 1;
        self.len += 1;
        let slot = &mut self.slots[index as usize];
        slot.0 = slot.0.wrapping_add(1);
        let id = SessionId { index, generation: slot.0 };
        slot.1 = Some(Box::new(Session {
            number: self.opened,
            id,
            peer: peer.into(),
            local: None,
            buffers: Buffers::default(),
            held: Held::default(),
            name: Box::default(),
            library: Box::default(),
            library_version: Box::default(),
            protocol: Protocol::Resp2,
            db: 0,
            user: "default".into(),
            authenticated: true,
            unrestricted: true,
            is_primary: false,
            is_replica: false,
            transaction: None,
            watched: BTreeSet::new(),
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            shard_channels: BTreeSet::new(),
            blocked: None,
            reply_mode: ReplyMode::On,
            no_evict: false,
            no_touch: false,
            opened_ms: now.unix_ms,
            active_ms: now.unix_ms,
            last_command: ("NULL", None),
            pending: Vec::new(),
            queued: false,
            resumed: false,
            closing: self.len > SESSIONS_MAX,
            aborted: false,
        }));
        id
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Session> {
        let (generation, session) = self.slots.get(id.index as usize)?;
        session.as_deref().filter(|_| *generation == id.generation)
    }

    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        let (generation, session) = self.slots.get_mut(id.index as usize)?;
        session.as_deref_mut().filter(|_| *generation == id.generation)
    }

    pub(crate) fn close(&mut self, id: SessionId) -> Option<Box<Session>> {
        let (generation, session) = self.slots.get_mut(id.index as usize)?;
        if *generation != id.generation {
            return None;
        }
        let closed = session.take()?;
        self.free.push(id.index);
        self.len -= 1;
        self.held_bytes -= closed.held.counted;
        Some(closed)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.slots.iter().filter_map(|(_, session)| session.as_deref())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.slots.iter_mut().filter_map(|(_, session)| session.as_deref_mut())
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// Appends to a session's pending output. A session above the limit is aborted.
    pub(crate) fn send(&mut self, id: SessionId, write: impl FnOnce(&mut Reply<'_>)) {
        let Some(session) = self.get_mut(id) else { return };
        if session.closing {
            return;
        }
        write(&mut Reply::new(&mut session.pending, session.protocol));
        if session.pending.len() > PUSH_BYTES_MAX {
            self.refusals.unread += 1;
            return self.abort(id);
        }
        self.enqueue(id);
    }

    /// Resumes a blocked session with this reply.
    pub(crate) fn resume(&mut self, id: SessionId, reply: &[u8]) {
        if let Some(session) = self.get_mut(id) {
            match session.reply_mode {
                ReplyMode::Off => {}
                ReplyMode::Skip => session.reply_mode = ReplyMode::On,
                ReplyMode::On | ReplyMode::SkipNext => session.pending.extend_from_slice(reply),
            }
            session.resumed = true;
            self.enqueue(id);
        }
    }

    /// Closes a session after its pending output.
    pub(crate) fn end(&mut self, id: SessionId) {
        if let Some(session) = self.get_mut(id) {
            session.closing = true;
            self.enqueue(id);
        }
    }

    pub(crate) fn enqueue(&mut self, id: SessionId) {
        if let Some(session) = self.get_mut(id)
            && !session.queued
        {
            session.queued = true;
            self.queue.push_back(id);
        }
    }

    pub(crate) fn poll(&mut self) -> Option<(SessionId, Output)> {
        while let Some(id) = self.queue.pop_front() {
            let Some(session) = self.get_mut(id) else { continue };
            session.queued = false;
            let bytes = std::mem::take(&mut session.pending);
            let output = match (std::mem::take(&mut session.resumed), session.closing) {
                _ if session.aborted => Output::Abort,
                (_, true) => Output::Close(bytes),
                (true, _) => Output::Resume(bytes),
                _ => Output::Bytes(bytes),
            };
            return Some((id, output));
        }
        None
    }
}
