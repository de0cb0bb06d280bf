//! A session's turn: several commands of it, with what holds for all of them looked at once.
//!
//! Most commands come to a server in which nothing is the matter: no transaction, no replica, no limit of memory, nobody who
//! wants to be told. Whether it is so is asked when a turn begins, and again after each command that could change it. In
//! between, a command that only reads or writes keys, and that quickly, runs at once.

use netdyno_resp::{Protocol, Reply};

use crate::command::{Context, Waiting};
use crate::engine::Engine;
use crate::keyspace::Class;
use crate::now::Now;
use crate::session::{Outcome, ReplyMode, SessionId};

/// The commands of one session, one after the other. While there is one nobody else can change the engine.
#[derive(Debug)]
pub struct Turn<'a> {
    engine: &'a mut Engine,
    now: Now,
    id: SessionId,
    /// Nothing is the matter, and the keyspace looks at the session's database; and what the session speaks.
    calm: Option<Protocol>,
    /// Commands that ran since, and the last of them: what is known of the session does not have them yet.
    ran: u64,
    last: usize,
}

impl Engine {
    /// Commands of a session are about to come.
    pub fn turn(&mut self, now: Now, id: SessionId) -> Turn<'_> {
        self.keys.now = now;
        let calm = self.calm(id);
        Turn { engine: self, now, id, calm, ran: 0, last: 0 }
    }

    /// Whether nothing can keep a quick command of this session from running, and nobody is to be told of it: its protocol then.
    fn calm(&mut self, id: SessionId) -> Option<Protocol> {
        let session = self.world.sessions.get(id)?;
        let free = session.authenticated
            && session.unrestricted
            && !session.is_primary
            && !session.closing
            && !session.no_touch
            && session.blocked.is_none()
            && session.transaction.is_none()
            && session.reply_mode == ReplyMode::On
            && !session.only_listens();
        let (world, keys) = (&self.world, &self.keys);
        let calm = free
            && !world.replication.restricts()
            && world.host.refusal.is_none()
            && world.saves.refusal(&world.config).is_none()
            && world.pause.until_ms <= keys.now.unix_ms
            && !world.slow.times_all()
            && world.monitors.is_empty()
            && keys.memory_max == 0
            && keys.notify == Class::NONE
            && keys.is_unheard();
        if !calm {
            return None;
        }
        (self.keys.db, self.keys.touching) = (session.db, true);
        Some(session.protocol)
    }
}

impl Turn<'_> {
    /// Runs the next command, as [`Engine::execute`] does.
    #[inline]
    pub fn execute(&mut self, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let Engine { keys, world, commands } = &mut *self.engine;
        if let Some(protocol) = self.calm
            && let Some(name) = args.first()
            && let Some((index, run)) = commands.find_quick(name, args.len())
        {
            (self.ran, self.last) = (self.ran + 1, index);
            let reply = Reply::new(out, protocol);
            let (id, waiting) = (self.id, Waiting::Never);
            let mut context =
                Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
            context.run_with(run, index, args);
            return Outcome::Continue;
        }
        self.execute_any(args, out)
    }

    /// To ask for something beside.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    #[inline(never)]
    fn execute_any(&mut self, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        self.settle();
        let outcome = self.engine.execute(self.now, self.id, args, out);
        self.calm = self.engine.calm(self.id);
        outcome
    }

    /// Writes down what ran.
    fn settle(&mut self) {
        let ran = std::mem::take(&mut self.ran);
        if ran > 0 {
            let world = &mut self.engine.world;
            world.totals.commands += ran;
            if let Some(session) = world.sessions.get_mut(self.id) {
                session.active_ms = self.now.unix_ms;
                session.last_command = (self.engine.commands.get(self.last).spec.name, None);
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}
