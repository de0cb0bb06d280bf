//! The engine: the state that all connections share.

use std::collections::BTreeMap;

use netdyno_resp::{Protocol, Reply};

use crate::acl::Acl;
use crate::blocking::Blocking;
use crate::call::{call, retry};
use crate::command::{Command, Commands};
use crate::commands;
use crate::config::Config;
use crate::entropy::Entropy;
use crate::error::Error;
use crate::followers::Followers;
use crate::host::Host;
use crate::keyspace::Keyspace;
use crate::limits::{EXPIRED_PER_TICK, SERVE_ROUNDS_MAX};
use crate::monitors::Monitors;
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::saves::SaveState;
use crate::session::{
    Blocked, OnTimeout, Outcome, Output, ReplyMode, Session, SessionId, Sessions, borrowed, owned,
};
use crate::slow::SlowLog;
use crate::spec::Flags;
use crate::timestamp::Timestamp;
use crate::world::{ID_DIGITS, Pause, Totals, World};

/// Keys, sessions, channels and users. Executes one command at a time; the caller provides the time and
/// collects output for other sessions.
#[derive(Debug)]
pub struct Engine {
    pub(crate) keys: Keyspace,
    pub(crate) world: World,
    pub(crate) commands: Commands,
}

impl Engine {
    /// An engine with an empty keyspace. Its secrets and random draws come from `entropy`: the host's generator
    /// ([`Entropy::new`]), or a seed in tests.
    pub fn new(config: Config, entropy: impl Into<Entropy>) -> Self {
        let mut entropy = entropy.into();
        let mut keys = Keyspace::new(config.databases(), &mut entropy);
        config.apply(&mut keys);
        let acl = Acl::new(config.get("requirepass").unwrap_or_default());
        let commands = commands::all();
        let mut slow = SlowLog::default();
        slow.configure(&config);
        let mut world = World {
            sessions: Sessions::default(),
            pubsub: PubSub::default(),
            blocking: Blocking::default(),
            acl,
            config,
            totals: Totals::default(),
            pause: Pause::default(),
            monitors: Monitors::default(),
            host: Host::default(),
            saves: SaveState::default(),
            client_memory_max: 0,
            replication: Replication::default(),
            followers: Followers::default(),
            history: entropy.digits(ID_DIGITS),
            started_ms: 0,
            info: BTreeMap::new(),
            info_sources: BTreeMap::new(),
            slow,
            run_id: entropy.digits(ID_DIGITS),
            entropy,
        };
        world.saves.points = world.config.save_points();
        world.client_memory_max = world.config.number("maxmemory-clients");
        Self { keys, world, commands }
    }

    /// Adds a command, or replaces the one with the same name.
    pub fn register(&mut self, command: Command) {
        self.commands.add(command);
    }

    /// Opens a session for a connection.
    pub fn open(&mut self, now: Timestamp, peer: &str) -> SessionId {
        if self.world.started_ms == 0 {
            self.world.started_ms = now.unix_ms;
        }
        let id = self.world.sessions.open(now, peer);
        let free = self.world.acl.is_open();
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.authenticated = free;
            session.unrestricted = self.world.acl.is_unrestricted("default");
        }
        id
    }

    /// Closes a session.
    pub fn close(&mut self, session: SessionId) {
        self.world.close(&mut self.keys, session);
    }

    /// The protocol of a session.
    pub fn protocol(&self, session: SessionId) -> Protocol {
        self.world.sessions.get(session).map(|session| session.protocol).unwrap_or_default()
    }

    /// Whether a session is authenticated or needs no password. Until then its requests have lower limits.
    pub fn is_authenticated(&self, session: SessionId) -> bool {
        self.world.sessions.get(session).is_some_and(|session| session.authenticated)
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.world.sessions.len()
    }

    /// Executes one command and appends its reply to `out`, in the session's protocol.
    pub fn execute(&mut self, now: Timestamp, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        self.keys.now = now;
        let start = out.len();
        let outcome = self.run(id, args, out);
        if !self.keys.events.is_empty() {
            self.world.notify(&mut self.keys);
        }
        if !self.keys.ready.is_empty() {
            self.serve();
        }
        let Some(session) = self.world.sessions.get_mut(id) else { return Outcome::Close };
        // Confirmations of (un)subscribing are messages rather than replies.
        let is_message = |session: &Session| session.last_command.0.ends_with("subscribe");
        match session.reply_mode {
            // The reply follows when the session resumes.
            _ if outcome == Outcome::Blocked => {}
            ReplyMode::On => {}
            ReplyMode::Off | ReplyMode::SkipNext | ReplyMode::Skip if is_message(session) => {}
            ReplyMode::Off => out.truncate(start),
            ReplyMode::SkipNext => {
                session.reply_mode = ReplyMode::Skip;
                out.truncate(start);
            }
            ReplyMode::Skip => {
                session.reply_mode = ReplyMode::On;
                out.truncate(start);
            }
        }
        if session.closing { Outcome::Close } else { outcome }
    }

    /// Expires keys and ends waits; the work per call is bounded.
    pub fn tick(&mut self, now: Timestamp) {
        self.keys.now = now;
        self.keys.expire_due(EXPIRED_PER_TICK);
        self.world.save_if_due(&mut self.keys);
        while let Some(id) = self.world.blocking.due(now.unix_ms) {
            self.time_out(id);
        }
        self.world.notify(&mut self.keys);
        self.serve();
    }

    /// When [`tick`](Self::tick) is due, in Unix milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        let deadlines = [
            self.keys.next_deadline(),
            self.world.blocking.next_deadline(),
            self.world.saves.due_ms(self.keys.dirty).filter(|_| self.keys.snapshot.is_none()),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Takes output for sessions other than replies to their own commands.
    pub fn poll_output(&mut self) -> Option<(SessionId, Output)> {
        self.world.sessions.poll()
    }

    /// Enables or disables the log of changes.
    pub fn record(&mut self, on: bool) {
        self.keys.log.record(on);
    }

    /// The changes since the last call, as commands in RESP that produce the same state when replayed. The
    /// caller takes the bytes and clears the buffer.
    pub fn take_log(&mut self) -> &mut Vec<u8> {
        self.keys.log.bytes()
    }

    /// Starts a dump of the whole keyspace. The log must be enabled until its end.
    pub fn begin_dump(&mut self) {
        self.keys.begin_dump();
    }

    /// Appends the next part of the keyspace as commands, about `budget` bytes plus at most one value.
    /// Returns `true` at the end. A consistent file results from appending parts and the contents of
    /// [`take_log`](Self::take_log) in order: before each part, the changes logged so far.
    pub fn dump(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        self.keys.dump(budget, out)
    }

    /// Prefetches a key that this session will probably use soon. The cache misses of several keys overlap if
    /// they are announced before their commands execute. This affects only performance.
    #[inline]
    pub fn prefetch(&self, id: SessionId, key: &[u8]) {
        if let Some(session) = self.world.sessions.get(id) {
            self.keys.prefetch(session.db, key);
        }
    }

    /// Whether there are enough keys for [`prefetch`](Self::prefetch) to be worthwhile.
    #[inline]
    pub fn prefetch_pays(&self, id: SessionId) -> bool {
        self.world.sessions.get(id).is_some_and(|session| self.keys.prefetch_pays(session.db))
    }

    /// Opens a session without restrictions, for example to replay an append-only file.
    pub fn open_trusted(&mut self, now: Timestamp) -> SessionId {
        let id = self.open(now, "");
        if let Some(session) = self.world.sessions.get_mut(id) {
            (session.authenticated, session.unrestricted) = (true, true);
        }
        id
    }

    /// The positions of the keys in a command, as far as they are known.
    pub fn key_positions(&self, args: &[&[u8]]) -> impl Iterator<Item = usize> + use<> {
        let index = args.first().and_then(|name| self.commands.find(name));
        index.map(|index| self.commands.get(index).spec.keys.positions(args)).into_iter().flatten()
    }

    /// Appends commands in RESP that recreate the value of a key; `false` if the key does not exist.
    pub fn write_key(&self, db: usize, key: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.write_key(db, key, out)
    }

    /// Visits all keys of a database, each with commands in RESP that recreate its value.
    pub fn write_database(&self, db: usize, visit: impl FnMut(&[u8], &[u8])) {
        self.keys.write_keys(db, visit);
    }

    /// Number of keys in all databases, including expired keys that are not removed yet.
    pub fn keys(&self) -> usize {
        (0..self.keys.databases()).map(|db| self.keys.sizes(db).0).sum()
    }

    /// Approximate memory used by keys and values, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes()
    }

    /// Looks up a command and runs it if the session may do so now.
    fn run(&mut self, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let Some(session) = self.world.sessions.get_mut(id) else { return Outcome::Close };
        let Some(&name) = args.first() else { return Outcome::Continue };
        if session.blocked.is_some() {
            // An error of the caller; executing the command out of order would be worse.
            Reply::new(out, session.protocol).error("ERR the connection is blocked by another command");
            return Outcome::Blocked;
        }
        session.active_ms = self.keys.now.unix_ms;
        let protocol = session.protocol;
        self.world.totals.commands += 1;
        let (index, result) = match self.commands.find(name) {
            None => (None, Err(unknown(args))),
            Some(index) => (Some(index), self.admit(id, index, args)),
        };
        let error = match (index, result) {
            (Some(index), Ok(Admitted::Run)) => {
                let command = self.commands.get(index);
                let begun_us = self.world.slow.begin(&command.spec);
                let outcome = call(&mut self.keys, &mut self.world, &self.commands, id, index, args, out);
                if let Some(begun_us) = begun_us.filter(|_| outcome != Outcome::Blocked) {
                    let session = self.world.sessions.get(id);
                    self.world.slow.end(begun_us, self.keys.now.unix_ms, &command.spec, args, session);
                }
                return outcome;
            }
            (_, Ok(Admitted::Queued)) => {
                Reply::new(out, protocol).simple("QUEUED");
                return Outcome::Continue;
            }
            (_, Ok(Admitted::Held)) => return Outcome::Blocked,
            (None, Ok(Admitted::Run)) => return Outcome::Continue,
            (_, Err(error)) => error,
        };
        self.world.totals.errors += 1;
        if let Some(transaction) = self.world.sessions.get_mut(id).and_then(|s| s.transaction.as_mut()) {
            transaction.spoiled = true;
        }
        Reply::new(out, protocol).error(error.text());
        Outcome::Continue
    }

    /// All checks before a command runs, in Redis' order.
    fn admit(&mut self, id: SessionId, index: usize, args: &[&[u8]]) -> Result<Admitted, Error> {
        let command = self.commands.get(index);
        let Some(session) = self.world.sessions.get_mut(id) else { return Ok(Admitted::Run) };
        session.last_command = (command.spec.name, command.check(args)?);
        if !session.authenticated && !command.spec.flags.contains(Flags::NO_AUTH) {
            return Err(Error::fixed("NOAUTH Authentication required."));
        }
        if !session.unrestricted && !command.spec.flags.contains(Flags::NO_AUTH) {
            self.world.acl.check(&session.user, &command.spec, args).map_err(|denial| denial.error())?;
        }
        if session.is_primary {
            // The primary has executed the command, so it must run here too.
            return match &mut session.transaction {
                Some(transaction) if !command.spec.ends_transaction() => {
                    transaction.queue(args).map(|()| Admitted::Queued)
                }
                _ => Ok(Admitted::Run),
            };
        }
        let queued = session.transaction.as_ref().filter(|_| command.spec.name == "exec");
        let flags = queued.map_or(command.spec.flags, |queued| command.spec.flags.with(queued.flags));
        let needs_data =
            queued.map_or_else(|| Replication::needs_data(&command.spec), |queued| queued.needs_data);
        let is_transaction = queued.is_some();
        if let Err(error) = check_state(&mut self.keys, &self.world, flags, needs_data) {
            return Err(if is_transaction { self.abort_transaction(id, &error) } else { error });
        }
        let Some(session) = self.world.sessions.get_mut(id) else { return Ok(Admitted::Run) };
        if session.only_listens() && !command.spec.flags.contains(Flags::LISTENER) {
            return Err(Error::new(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
                 context",
                command.spec.name
            )));
        }
        if let Some(transaction) = &mut session.transaction
            && !command.spec.ends_transaction()
        {
            if command.spec.flags.contains(Flags::NO_MULTI) {
                return Err(Error::fixed("ERR Command not allowed inside a transaction"));
            }
            transaction.flags = transaction.flags.with(command.spec.flags);
            transaction.needs_data |= Replication::needs_data(&command.spec);
            return transaction.queue(args).map(|()| Admitted::Queued);
        }
        let pause = self.world.pause;
        let concerned = pause.all || command.spec.flags.contains(Flags::WRITE) || command.spec.name == "exec";
        if pause.until_ms > self.keys.now.unix_ms && concerned && command.spec.name != "client" {
            let blocked = Blocked {
                args: owned(args),
                db: session.db,
                keys: Vec::new(),
                deadline: Some(pause.until_ms),
                on_timeout: OnTimeout::Run,
            };
            self.world.blocking.add(&mut self.keys, &mut self.world.sessions, id, blocked);
            return Ok(Admitted::Held);
        }
        Ok(Admitted::Run)
    }

    /// Discards a transaction that EXEC may not run now.
    fn abort_transaction(&mut self, id: SessionId, error: &Error) -> Error {
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.transaction = None;
            let watched = session.take_watched();
            self.keys.watch.forget(id, &watched);
        }
        Error::new(format!("EXECABORT Transaction discarded because of: {}", error.text()))
    }

    /// Ends a wait that timed out.
    fn time_out(&mut self, id: SessionId) {
        let held = self.world.sessions.get(id).and_then(|session| session.blocked.as_ref());
        if held.is_none_or(|blocked| blocked.on_timeout != OnTimeout::Run) {
            if !self.world.unblock(&mut self.keys, id, None) {
                self.world.blocking.remove(&mut self.keys, &mut self.world.sessions, id);
            }
            return;
        }
        if let Some(blocked) = self.world.blocking.remove(&mut self.keys, &mut self.world.sessions, id) {
            let mut out = Vec::new();
            let outcome = self.run(id, &borrowed(&blocked.args), &mut out);
            if outcome != Outcome::Blocked {
                self.world.sessions.resume(id, &out);
            }
            if outcome == Outcome::Close {
                self.world.sessions.end(id);
            }
        }
    }

    /// Serves sessions that wait for keys that have become ready, in order of arrival.
    pub(crate) fn serve(&mut self) {
        for _ in 0..SERVE_ROUNDS_MAX {
            if self.keys.ready.is_empty() {
                return;
            }
            for key in std::mem::take(&mut self.keys.ready) {
                for id in self.world.blocking.queue(&key) {
                    if !retry(&mut self.keys, &mut self.world, &self.commands, id, &key) {
                        break;
                    }
                }
            }
            self.world.notify(&mut self.keys);
        }
    }
}

/// Checks whether the state of the server permits a command with these flags; for EXEC, those of all queued
/// commands.
fn check_state(keys: &mut Keyspace, world: &World, flags: Flags, needs_data: bool) -> Result<(), Error> {
    if world.replication.restricts() {
        world.replication.admit(flags, needs_data)?;
    }
    if flags.contains(Flags::WRITE)
        && let Some(text) = world.host.refusal.as_deref().or_else(|| world.saves.refusal(&world.config))
    {
        return Err(Error::new(text));
    }
    // A replica does not evict: its primary does.
    let has_room = keys.memory_max == 0 || world.replication.is_replica() || keys.make_room();
    if !has_room && flags.contains(Flags::DENY_OOM) {
        return Err(Error::OUT_OF_MEMORY);
    }
    Ok(())
}

enum Admitted {
    Run,
    Queued,
    Held,
}

fn unknown(args: &[&[u8]]) -> Error {
    use crate::limits::ERROR_ECHO_BYTES as MAX;
    let text = |arg: &[u8], most: usize| String::from_utf8_lossy(&arg[..arg.len().min(most)]).into_owned();
    let mut rest = String::new();
    for arg in &args[1..] {
        if rest.len() >= MAX {
            break;
        }
        rest += &format!("'{}' ", text(arg, MAX - rest.len()));
    }
    let name = args.first().map(|arg| text(arg, MAX)).unwrap_or_default();
    Error::new(format!("ERR unknown command '{name}', with args beginning with: {rest}"))
}
