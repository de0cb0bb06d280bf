//! A batch: several commands of one session, with shared checks.
//!
//! Usually nothing restricts a command: no transaction, replica, memory limit or observer. This is checked at
//! the start of a batch and after each command that could change it. In between, fast commands that only
//! access keys run without further checks.

use netdyno_resp::{Protocol, Reply};

use crate::command::{Context, Waiting};
use crate::engine::Engine;
use crate::keyspace::EventClass;
use crate::session::{Outcome, ReplyMode, SessionId};
use crate::timestamp::Timestamp;

/// Executes consecutive commands of a session, with exclusive access to the engine.
#[derive(Debug)]
pub struct Batch<'a> {
    engine: &'a mut Engine,
    now: Timestamp,
    id: SessionId,
    /// The protocol of the session if fast commands need no checks and its database is selected.
    fast_path: Option<Protocol>,
    /// Commands that are not recorded in the session yet, and the last of them.
    ran: u64,
    last: usize,
}

impl Engine {
    /// Starts a batch of a session.
    pub fn batch(&mut self, now: Timestamp, id: SessionId) -> Batch<'_> {
        self.keys.now = now;
        let fast_path = self.fast_path(id);
        Batch { engine: self, now, id, fast_path, ran: 0, last: 0 }
    }

    /// Whether fast commands of this session need no checks and have no observers; then its protocol.
    fn fast_path(&mut self, id: SessionId) -> Option<Protocol> {
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
        let fast_path = free
            && !world.replication.restricts()
            && world.host.refusal.is_none()
            && world.saves.refusal(&world.config).is_none()
            && world.pause.until_ms <= keys.now.unix_ms
            && !world.slow.times_all()
            && world.monitors.is_empty()
            && keys.memory_max == 0
            && keys.notify == EventClass::NONE
            && keys.is_unheard();
        if !fast_path {
            return None;
        }
        (self.keys.db, self.keys.touching) = (session.db, true);
        Some(session.protocol)
    }
}

impl Batch<'_> {
    /// Executes the next command, like [`Engine::execute`].
    #[inline]
    pub fn execute(&mut self, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        let Engine { keys, world, commands } = &mut *self.engine;
        if let Some(protocol) = self.fast_path
            && let Some(name) = args.first()
            && let Some((index, run)) = commands.find_fast(name, args.len())
        {
            (self.ran, self.last) = (self.ran + 1, index);
            let reply = Reply::new(out, protocol);
            let (id, waiting) = (self.id, Waiting::Never);
            let mut context =
                Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
            context.run_with(run, index, args);
            return if keys.ready.is_empty() { Outcome::Continue } else { self.serve() };
        }
        self.execute_any(args, out)
    }

    /// Read access to the engine.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    #[inline(never)]
    fn execute_any(&mut self, args: &[&[u8]], out: &mut Vec<u8>) -> Outcome {
        self.record();
        let outcome = self.engine.execute(self.now, self.id, args, out);
        self.fast_path = self.engine.fast_path(self.id);
        outcome
    }

    /// Serves sessions that wait for a key of the last command.
    #[cold]
    fn serve(&mut self) -> Outcome {
        self.record();
        self.engine.serve();
        self.fast_path = self.engine.fast_path(self.id);
        let closing = self.engine.world.sessions.get(self.id).is_none_or(|session| session.closing);
        if closing { Outcome::Close } else { Outcome::Continue }
    }

    /// Records the executed commands in the session.
    fn record(&mut self) {
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

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.record();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::random::Random;

    /// Commands that affect how later ones are executed, mixed with fast ones.
    const LINES: [&str; 48] = [
        "SET k v",
        "set k w",
        "Set a b",
        "GET k",
        "get a",
        "GET",
        "SET k",
        "INCR n",
        "APPEND k x",
        "GETEX k PX 1",
        "SET k v PX 2",
        "PEXPIRE a 1",
        "DEL k",
        "LPUSH l a b",
        "RPOP l",
        "HSET h f v",
        "HGET h f",
        "ZADD z 1 m",
        "SADD s m",
        "TYPE k",
        "EXISTS k a",
        "PING",
        "NONESUCH x",
        "MULTI",
        "EXEC",
        "DISCARD",
        "WATCH k",
        "SELECT 1",
        "SELECT 0",
        "HELLO 3",
        "HELLO 2",
        "RESET",
        "SUBSCRIBE c",
        "UNSUBSCRIBE",
        "CLIENT REPLY OFF",
        "CLIENT REPLY ON",
        "CLIENT REPLY SKIP",
        "CLIENT NO-TOUCH ON",
        "CLIENT PAUSE 1 WRITE",
        "CONFIG SET maxmemory 1",
        "CONFIG SET maxmemory 0",
        "CONFIG SET notify-keyspace-events KEA",
        "CONFIG SET notify-keyspace-events KEA",
        "CONFIG SET slowlog-log-slower-than 0",
        "CONFIG SET requirepass p",
        "CONFIG RESETSTAT",
        "MONITOR",
        "BLPOP l m 0.001",
    ];

    /// Two engines receive the same commands: one in batches, the other one at a time.
    #[test]
    fn a_batch_replies_like_single_commands() {
        let mut answers = 0;
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let mut engines = [(); 2].map(|()| Engine::new(Config::default(), 9));
            let mut now = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };
            let sessions = engines.each_mut().map(|engine| [(); 3].map(|()| engine.open(now, "s")));
            engines.iter_mut().for_each(|engine| engine.record(true));
            let [mut in_batches, mut one_by_one] = engines;
            let mut blocked = [false; 3];
            for _ in 0..80 {
                let at = random.below(3);
                let mut outs = [Vec::new(), Vec::new()];
                let mut batch = in_batches.batch(now, sessions[0][at]);
                for _ in 0..random.below(8) {
                    // Prefers the first entries of the list.
                    let last = if random.below(8) == 0 { LINES.len() } else { 20 };
                    let words: Vec<&[u8]> = LINES[random.below(last)].split(' ').map(str::as_bytes).collect();
                    if blocked[at] {
                        break;
                    }
                    let outcome = batch.execute(&words, &mut outs[0]);
                    let expected = one_by_one.execute(now, sessions[1][at], &words, &mut outs[1]);
                    assert_eq!((outcome, &outs[0]), (expected, &outs[1]), "{words:?}, seed {seed}");
                    blocked[at] = outcome == Outcome::Blocked;
                    answers += 1;
                }
                drop(batch);
                now.unix_ms += random.below(2) as u64;
                let [output, expected] = [&mut in_batches, &mut one_by_one].map(|engine| {
                    engine.tick(now);
                    let output: Vec<_> = std::iter::from_fn(|| engine.poll_output()).collect();
                    (output, std::mem::take(engine.take_log()), engine.keys(), engine.memory_bytes())
                });
                assert_eq!(output, expected, "seed {seed}");
                for (id, output) in &output.0 {
                    if matches!(output, crate::Output::Resume(_)) {
                        blocked[sessions[0].iter().position(|session| session == id).unwrap()] = false;
                    }
                }
            }
            for line in ["INFO commandstats", "INFO stats", "CLIENT LIST"] {
                let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
                let [output, expected] = [&mut in_batches, &mut one_by_one].map(|engine| {
                    let (id, mut out) = (engine.open_trusted(now), Vec::new());
                    engine.execute(now, id, &words, &mut out);
                    String::from_utf8(out).unwrap()
                });
                assert_eq!(output, expected, "seed {seed}");
            }
        }
        assert!(answers > 50_000, "{answers}");
    }
}
