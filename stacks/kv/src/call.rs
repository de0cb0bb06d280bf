//! Runs a command from a connection, or again after a wait.

use netdyno_resp::Reply;

use crate::command::{Commands, Context, Run, Waiting};
use crate::error::Error;
use crate::keyspace::Keyspace;
use crate::session::{Outcome, SessionId, borrowed};
use crate::spec::{Flags, Group};
use crate::world::World;

/// Runs an admitted command, and writes its reply or error and its log entry.
pub(crate) fn call(
    keys: &mut Keyspace,
    world: &mut World,
    commands: &Commands,
    id: SessionId,
    index: usize,
    args: &[&[u8]],
    out: &mut Vec<u8>,
) -> Outcome {
    let Some(session) = world.sessions.get(id) else { return Outcome::Close };
    keys.db = session.db;
    keys.touching = !session.no_touch || commands.get(index).spec.name == "touch";
    let reply = Reply::new(out, session.protocol);
    let waiting = Waiting::Allowed;
    let mut context = Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
    context.run(index, args);
    let close = context.close;
    match world.sessions.get(id) {
        Some(session) if session.blocked.is_some() => Outcome::Blocked,
        Some(_) if !close => Outcome::Continue,
        _ => Outcome::Close,
    }
}

impl Context<'_> {
    /// Runs one command: logs its changes, counts the call, and replaces the reply by its error on failure.
    pub(crate) fn run(&mut self, index: usize, args: &[&[u8]]) {
        let command = self.commands.get(index);
        if !self.world.monitors.is_empty() && self.waiting != Waiting::Again {
            let (now, who) = (self.keys.now, (self.id, self.keys.db));
            self.world.monitors.report(&mut self.world.sessions, now, who, &command.spec, args);
        }
        if self.keys.dump.is_some() && command.spec.flags.contains(Flags::WRITE) {
            command.spec.keys.positions(args).for_each(|at| self.keys.dump_early(args[at]));
        }
        self.run_with(command.run, index, args);
    }

    /// The same, without a dump in progress.
    #[inline]
    pub(crate) fn run_with(&mut self, run: Run, index: usize, args: &[&[u8]]) {
        let start = self.reply.out().len();
        let (db, dirty) = (self.keys.db, self.keys.dirty);
        self.keys.log.begin();
        let result = run(self, args);
        if self.keys.dirty != dirty {
            self.keys.log.end(db, args);
        }
        let totals = &mut self.world.totals;
        if totals.calls.len() <= index {
            totals.calls.resize(self.commands.len(), (0, 0));
        }
        totals.calls[index].0 += 1;
        if let Err(error) = result {
            self.fail(index, start, &error);
        }
    }

    #[cold]
    fn fail(&mut self, index: usize, start: usize, error: &Error) {
        let totals = &mut self.world.totals;
        totals.calls[index].1 += 1;
        totals.errors += 1;
        self.reply.out().truncate(start);
        self.reply.error(error.text());
    }
}

/// Retries a blocked command because `key` has a value; returns `false` if nothing is left for other
/// sessions.
pub(crate) fn retry(
    keys: &mut Keyspace,
    world: &mut World,
    commands: &Commands,
    id: SessionId,
    key: &(usize, Box<[u8]>),
) -> bool {
    // A session about to close must not take a value that its client will not receive.
    let Some(session) = world.sessions.get_mut(id).filter(|session| !session.closing) else { return true };
    let protocol = session.protocol;
    let Some(blocked) = session.blocked.take() else { return true };
    keys.db = key.0;
    let index = blocked.args.first().and_then(|name| commands.find(name));
    let group = index.map(|index| commands.get(index).spec.group);
    let kind = keys.peek(&key.1).map(|entry| entry.value().map_or("string", |value| value.type_name()));
    let fits =
        matches!((group, kind), (Some(Group::List), Some("list")) | (Some(Group::SortedSet), Some("zset")));
    let mut out = Vec::new();
    let mut served = false;
    if let Some(index) = index.filter(|_| fits) {
        let args = borrowed(&blocked.args);
        // Permissions can change while the command waits.
        let denial = match session.unrestricted {
            true => None,
            false => world.acl.check(&session.user, &commands.get(index).spec, &args).err(),
        };
        let reply = Reply::new(&mut out, protocol);
        let waiting = Waiting::Again;
        let mut context =
            Context { keys, world, commands, reply, id, waiting, still_waits: false, close: false };
        match denial {
            Some(denial) => context.fail(index, 0, &denial.error()),
            None => context.run(index, &args),
        }
        served = !context.still_waits;
    }
    if let Some(session) = world.sessions.get_mut(id) {
        session.blocked = Some(blocked);
    }
    if served {
        world.blocking.remove(keys, &mut world.sessions, id);
        world.sessions.resume(id, &out);
    }
    kind.is_some()
}
