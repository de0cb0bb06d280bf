//! The engine: what all connections share.

use std::collections::BTreeMap;

use netdyno_resp::{Protocol, Reply};

use crate::acl::Acl;
use crate::blocking::Blocking;
use crate::call::{call, try_again};
use crate::command::{Command, Commands};
use crate::commands;
use crate::config::Config;
use crate::error::Error;
use crate::followers::Followers;
use crate::host::Host;
use crate::keyspace::Keyspace;
use crate::limits::{EXPIRED_PER_TICK, SERVE_ROUNDS_MAX};
use crate::monitors::Monitors;
use crate::now::Now;
use crate::pubsub::PubSub;
use crate::random::Random;
use crate::replication::Replication;
use crate::saves::Saves;
use crate::session::{
    Blocked, OnTimeout, Outcome, Output, ReplyMode, Session, SessionId, Sessions, borrowed, owned,
};
use crate::slow::Slow;
use crate::spec::Flags;
use crate::world::{Pause, Totals, World};

/// Keys, sessions, channels, users. One command after the other; give it time, take what it has for others.
#[derive(Debug)]
pub struct Engine {
    pub(crate) keys: Keyspace,
    pub(crate) world: World,
    pub(crate) commands: Commands,
}

impl Engine {
    /// An empty keyspace. The seed decides hashes and draws: it should be a secret of the process.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut random = Random::new(!seed);
        let run_id = format!("{:016x}{:016x}{:08x}", random.next(), random.next(), random.next() as u32);
        let mut keys = Keyspace::new(config.databases(), seed);
        config.apply(&mut keys);
        let acl = Acl::new(config.get("requirepass").unwrap_or_default());
        let commands = commands::all();
        let mut slow = Slow::default();
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
            saves: Saves::default(),
            replication: Replication::default(),
            followers: Followers::default(),
            history: run_id.clone(),
            started_ms: 0,
            info: BTreeMap::new(),
            info_sources: BTreeMap::new(),
            slow,
            run_id,
        };
        world.saves.points = world.config.save_points();
        Self { keys, world, commands }
    }

    /// Adds a command, or puts another in place of the one with its name.
    pub fn register(&mut self, command: Command) {
        self.commands.add(command);
    }

    /// A connection begins.
    pub fn open(&mut self, now: Now, peer: &str) -> SessionId {
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

    /// A connection has ended.
    pub fn close(&mut self, session: SessionId) {
        self.world.close(&mut self.keys, session);
    }

    /// The protocol that a session speaks.
    pub fn protocol(&self, session: SessionId) -> Protocol {
        self.world.sessions.get(session).map(|session| session.protocol).unwrap_or_default()
    }

    /// Whether a session has said who it is, or need not: until then its requests are held to be short.
    pub fn is_authenticated(&self, session: SessionId) -> bool {
        self.world.sessions.get(session).is_some_and(|session| session.authenticated)
    }

    /// Sessions that are open.
    pub fn sessions(&self) -> usize {
        self.world.sessions.len()
    }

    /// Runs one command; its reply is appended to `out`, in the session's protocol.
    pub fn execute(&mut self, now: Now, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
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
        // That a subscription has begun or ended is no reply, but a message.
        let is_message = |session: &Session| session.last_command.0.ends_with("subscribe");
        match session.reply_mode {
            // Its reply is that with which it goes on.
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

    /// Expiry in the background, and the end of waits; bounded a call.
    pub fn tick(&mut self, now: Now) {
        self.keys.now = now;
        self.keys.expire_due(EXPIRED_PER_TICK);
        self.world.save_if_due(&mut self.keys);
        while let Some(id) = self.world.blocking.due(now.unix_ms) {
            self.time_out(id);
        }
        self.world.notify(&mut self.keys);
        self.serve();
    }

    /// When [`tick`](Self::tick) has something to do, in milliseconds since 1970.
    pub fn next_deadline(&self) -> Option<u64> {
        let deadlines = [
            self.keys.next_deadline(),
            self.world.blocking.next_deadline(),
            self.world.saves.due_ms(self.keys.dirty).filter(|_| self.keys.snapshot.is_none()),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What sessions are to be told beside the replies of their own commands.
    pub fn poll_output(&mut self) -> Option<(SessionId, Output)> {
        self.world.sessions.poll()
    }

    /// Whether changes are written down.
    pub fn record(&mut self, on: bool) {
        self.keys.log.record(on);
    }

    /// What was changed since last asked, as commands in RESP that give the same state when executed again. The caller takes
    /// the bytes and clears it.
    pub fn take_log(&mut self) -> &mut Vec<u8> {
        self.keys.log.bytes()
    }

    /// Begins to tell the whole keyspace. Changes are to be recorded until its end.
    pub fn begin_dump(&mut self) {
        self.keys.begin_dump();
    }

    /// Appends the next part of the keyspace as commands: about `budget` bytes, and one value's more at the most. `true` at the
    /// end. The new file is in order if parts and what [`take_log`](Self::take_log) has are appended as they come to be: before
    /// each part, what was logged until then.
    pub fn dump(&mut self, budget: usize, out: &mut Vec<u8>) -> bool {
        self.keys.dump(budget, out)
    }

    /// Says that this session will probably use this key soon. Several at once, before their commands are executed, are
    /// fetched from memory side by side, not one after the other. Nothing changes but the time that the commands take.
    #[inline]
    pub fn warm(&self, id: SessionId, key: &[u8]) {
        if let Some(session) = self.world.sessions.get(id) {
            self.keys.warm(session.db, key);
        }
    }

    /// Whether there are so many keys that [`warm`](Self::warm) is worthwhile.
    #[inline]
    pub fn wants_warmth(&self, id: SessionId) -> bool {
        self.world.sessions.get(id).is_some_and(|session| self.keys.wants_warmth(session.db))
    }

    /// A session of the program's own, which may do everything: to execute an append-only file.
    pub fn open_trusted(&mut self, now: Now) -> SessionId {
        let id = self.open(now, "");
        if let Some(session) = self.world.sessions.get_mut(id) {
            (session.authenticated, session.unrestricted) = (true, true);
        }
        id
    }

    /// Where the keys stand in a command, as far as it is known.
    pub fn key_positions(&self, args: &[&[u8]]) -> impl Iterator<Item = usize> + use<> {
        let index = args.first().and_then(|name| self.commands.find(name));
        index.map(|index| self.commands.get(index).spec.keys.positions(args)).into_iter().flatten()
    }

    /// Appends commands in RESP that make what a key of a database has; `false` if it has nothing.
    pub fn tell_key(&self, db: usize, key: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.tell(db, key, out)
    }

    /// Tells all keys of a database, each with commands in RESP that make what it has.
    pub fn tell_database(&self, db: usize, visit: impl FnMut(&[u8], &[u8])) {
        self.keys.tell_all(db, visit);
    }

    /// Keys in all databases, those included whose time is over and that nobody has asked for since.
    pub fn keys(&self) -> usize {
        (0..self.keys.databases()).map(|db| self.keys.sizes(db).0).sum()
    }

    /// Bytes that keys and values take, about.
    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes()
    }

    /// Finds the command and sees whether the session may run it now.
    fn run(&mut self, id: SessionId, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let Some(session) = self.world.sessions.get_mut(id) else { return Outcome::Close };
        let Some(&name) = args.first() else { return Outcome::Continue };
        if session.blocked.is_some() {
            // The caller's mistake; a command out of order would be worse.
            Reply::new(out, session.protocol).error("ERR the connection waits for another command");
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

    /// Everything that can keep a command from running, in Redis' order.
    fn admit(&mut self, id: SessionId, index: usize, args: &[&[u8]]) -> Result<Admitted, Error> {
        let command = self.commands.get(index);
        let Some(session) = self.world.sessions.get_mut(id) else { return Ok(Admitted::Run) };
        session.last_command = (command.spec.name, command.check(args)?);
        if !session.authenticated && !command.spec.flags.contains(Flags::NO_AUTH) {
            return Err(Error::fixed("NOAUTH Authentication required."));
        }
        if !session.unrestricted && !command.spec.flags.contains(Flags::NO_AUTH) {
            self.world.acl.check(&session.user, index, &command.spec, args)?;
        }
        if session.is_primary {
            // It has run there: whatever is the matter here, it runs here, too.
            return match &mut session.transaction {
                Some(transaction) if !command.spec.ends_transaction() => {
                    transaction.queue(args).map(|()| Admitted::Queued)
                }
                _ => Ok(Admitted::Run),
            };
        }
        if self.world.replication.restricts() {
            self.world.replication.admit(&command.spec)?;
        }
        if command.spec.flags.contains(Flags::WRITE)
            && let Some(text) =
                self.world.host.refusal.as_deref().or_else(|| self.world.saves.refusal(&self.world.config))
        {
            return Err(Error::new(text));
        }
        // A replica's memory is its primary's to look after.
        if self.keys.memory_max > 0 && !self.world.replication.is_replica() {
            let room = self.keys.make_room();
            if !room && command.spec.flags.contains(Flags::DENY_OOM) {
                return Err(Error::OUT_OF_MEMORY);
            }
            let queued = session.transaction.as_ref().is_some_and(|transaction| transaction.needs_memory);
            if !room && queued && command.spec.name == "exec" {
                session.transaction = None;
                let watched = std::mem::take(&mut session.watched);
                self.keys.watch.forget(id, &watched);
                let why = Error::OUT_OF_MEMORY;
                return Err(Error::new(format!(
                    "EXECABORT Transaction discarded because of: {}",
                    why.text()
                )));
            }
        }
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
            transaction.needs_memory |= command.spec.flags.contains(Flags::DENY_OOM);
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

    /// A wait is over without success.
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

    /// Gives what keys have to the sessions that wait for it, first come first served.
    pub(crate) fn serve(&mut self) {
        for _ in 0..SERVE_ROUNDS_MAX {
            if self.keys.ready.is_empty() {
                return;
            }
            for key in std::mem::take(&mut self.keys.ready) {
                for id in self.world.blocking.queue(&key) {
                    if !try_again(&mut self.keys, &mut self.world, &self.commands, id, &key) {
                        break;
                    }
                }
            }
            self.world.notify(&mut self.keys);
        }
    }
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
