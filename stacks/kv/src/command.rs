//! Commands and the context they run in. The two types refer to each other: a command's function takes a
//! context, and a context can access all commands.

use netdyno_resp::Reply;

use crate::args::{is, wrong_arguments};
use crate::error::Error;
use crate::fast::FastCommands;
use crate::keyspace::{Deadline, EventClass, Keyspace};
use crate::limits::{COMMAND_NAME_MAX, STRING_BYTES_MAX};
use crate::number;
use crate::session::{Blocked, OnTimeout, Session, SessionId, owned};
use crate::spec::{Flags, Group, Keys, Spec};
use crate::world::World;

/// The function of a command. If it fails, its partial reply is discarded.
pub type Run = fn(&mut Context<'_>, &[&[u8]]) -> Result<(), Error>;

/// A command: its properties and its function.
#[derive(Clone, Copy)]
pub struct Command {
    pub(crate) spec: Spec,
    pub(crate) run: Run,
    /// The subcommands, if the command is a container.
    pub(crate) subcommands: &'static [Subcommand],
}

/// A subcommand: name, arity including both names, function.
pub(crate) type Subcommand = (&'static str, i32, Run);

impl Command {
    /// Creates a command; `name` is in lower case. The arity includes the name; a negative one is a minimum.
    pub const fn new(
        name: &'static str,
        arity: i32,
        flags: Flags,
        keys: Keys,
        group: Group,
        run: Run,
    ) -> Self {
        Self { spec: Spec { name, arity, flags, keys, group }, run, subcommands: &[] }
    }

    pub(crate) const fn containing(mut self, subcommands: &'static [Subcommand]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// Checks the number of arguments and returns the full name of the subcommand, if there is one.
    pub(crate) fn check(&self, args: &[&[u8]]) -> Result<Option<&'static str>, Error> {
        if !self.spec.takes(args.len()) {
            return Err(wrong_arguments(self.spec.name));
        }
        if self.subcommands.is_empty() || args.len() < 2 {
            return Ok(None);
        }
        find_subcommand(args, self.spec.name, self.subcommands).map(|found| Some(found.0))
    }
}

/// Whether a command may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It may: it was sent directly by a connection.
    Allowed,
    /// It may not: commands in a transaction act as if they timed out immediately.
    Never,
    /// It is blocked already, and this is a retry.
    Again,
}

/// The context of one command: its keyspace, session and reply.
pub struct Context<'a> {
    pub(crate) keys: &'a mut Keyspace,
    pub(crate) world: &'a mut World,
    pub(crate) commands: &'a Commands,
    pub(crate) reply: Reply<'a>,
    pub(crate) id: SessionId,
    pub(crate) waiting: Waiting,
    /// A retry found no value.
    pub(crate) still_waits: bool,
    /// Close the connection after the reply.
    pub(crate) close: bool,
}

impl<'a> Context<'a> {
    /// The writer of the reply.
    pub fn reply(&mut self) -> &mut Reply<'a> {
        &mut self.reply
    }

    /// The string value of a key.
    pub fn string(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.keys.string(key)
    }

    /// Sets a string value and removes the deadline.
    pub fn set_string(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.len() > STRING_BYTES_MAX {
            return Err(Error::TOO_LONG);
        }
        self.keys.set_string(key, value, Deadline::Clear);
        self.keys.changed_by(EventClass::STRING, "set", key);
        Ok(())
    }

    /// Removes a key; `false` if it does not exist.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.keys.delete(key)
    }

    pub(crate) fn session(&mut self) -> Result<&mut Session, Error> {
        self.world.sessions.get_mut(self.id).ok_or(Error::fixed("ERR the connection was closed"))
    }

    /// Removes the session's watches.
    pub(crate) fn forget_watches(&mut self) -> Result<(), Error> {
        let watched = self.session()?.take_watched();
        self.keys.watch.forget(self.id, &watched);
        Ok(())
    }

    /// Logs this command in place of the one that runs.
    pub(crate) fn log(&mut self, args: &[&[u8]]) {
        self.keys.log.replace(self.keys.db, args);
    }

    /// Blocks the session until one of these keys has a value, or replies with a null if it may not block.
    pub(crate) fn wait(
        &mut self,
        args: &[&[u8]],
        keys: &[&[u8]],
        deadline: Option<u64>,
        on_timeout: OnTimeout,
    ) {
        match self.waiting {
            Waiting::Again => self.still_waits = true,
            Waiting::Never if on_timeout == OnTimeout::Null => self.reply.null(),
            Waiting::Never => self.reply.null_array(),
            Waiting::Allowed => {
                let keys = keys.iter().map(|key| Box::from(*key)).collect();
                let blocked = Blocked { args: owned(args), db: self.keys.db, keys, deadline, on_timeout };
                self.world.blocking.add(self.keys, &mut self.world.sessions, self.id, blocked);
            }
        }
    }

    /// The deadline for a timeout in seconds, given as text.
    pub(crate) fn timeout(&self, text: &[u8]) -> Result<Option<u64>, Error> {
        let seconds =
            number::float(text).ok_or(Error::fixed("ERR timeout is not a float or out of range"))?;
        if seconds < 0.0 {
            return Err(Error::fixed("ERR timeout is negative"));
        }
        let ms = (seconds * 1000.0).ceil();
        if ms >= i64::MAX as f64 || !ms.is_finite() {
            return Err(Error::fixed("ERR timeout is out of range"));
        }
        if ms == 0.0 {
            return Ok(None);
        }
        let deadline = self.keys.now.unix_ms.checked_add(ms as u64).filter(|at| i64::try_from(*at).is_ok());
        deadline.map(Some).ok_or(Error::fixed("ERR timeout is out of range"))
    }
}

/// Runs the subcommand named by the second argument.
pub(crate) fn subcommand(
    context: &mut Context<'_>,
    args: &[&[u8]],
    container: &'static str,
    table: &[Subcommand],
) -> Result<(), Error> {
    (find_subcommand(args, container, table)?.2)(context, args)
}

fn find_subcommand(
    args: &[&[u8]],
    container: &'static str,
    table: &[Subcommand],
) -> Result<Subcommand, Error> {
    let Some(&(name, arity, run)) = table.iter().find(|(name, _, _)| is(args[1], name)) else {
        let text = String::from_utf8_lossy(&args[1][..args[1].len().min(128)]);
        let capitals = container.to_ascii_uppercase();
        return Err(Error::new(format!("ERR unknown subcommand '{text}'. Try {capitals} HELP.")));
    };
    let enough =
        if arity < 0 { args.len() >= arity.unsigned_abs() as usize } else { args.len() == arity as usize };
    if enough { Ok((name, arity, run)) } else { Err(wrong_arguments(&format!("{container}|{name}"))) }
}

/// Replies with the lines of a HELP subcommand.
pub(crate) fn help(context: &mut Context<'_>, container: &str, lines: &[&str]) {
    let reply = context.reply();
    reply.array(lines.len() + 3);
    reply.simple(format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    lines.iter().for_each(|line| reply.simple(line));
    reply.simple("HELP");
    reply.simple("    Print this help.");
}

/// All commands, with an index by name.
pub(crate) struct Commands {
    list: Vec<Command>,
    /// Open addressing; 0 is empty, otherwise the command's index plus one.
    places: Vec<u16>,
    fast: FastCommands<Run>,
}

impl std::fmt::Debug for Commands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Commands({})", self.list.len())
    }
}

/// A case-insensitive FNV-1a hash.
fn hash(name: &[u8]) -> usize {
    let mixed = name.iter().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    (mixed ^ (mixed >> 15)) as usize
}

impl Commands {
    /// The commands of these tables.
    pub(crate) fn new(tables: &[&[Command]]) -> Self {
        let mut commands = Self { list: Vec::new(), places: vec![0; 1024], fast: FastCommands::default() };
        for table in tables {
            table.iter().for_each(|command| commands.add(*command));
        }
        commands
    }

    /// Adds a command, or replaces the one with the same name.
    pub(crate) fn add(&mut self, command: Command) {
        if let Some(index) = self.find(command.spec.name.as_bytes()) {
            self.list[index] = command;
            return self.add_quick(&command, index);
        }
        if self.list.len() * 2 >= self.places.len() {
            self.places = vec![0; self.places.len() * 2];
            for index in 0..self.list.len() {
                self.enter(index);
            }
        }
        self.list.push(command);
        self.enter(self.list.len() - 1);
        self.add_quick(&command, self.list.len() - 1);
    }

    fn add_quick(&mut self, command: &Command, index: usize) {
        let run = command.subcommands.is_empty().then_some(command.run);
        self.fast.add(&command.spec, run, index);
    }

    fn enter(&mut self, index: usize) {
        let mask = self.places.len() - 1;
        let mut at = hash(self.list[index].spec.name.as_bytes()) & mask;
        while self.places[at] != 0 {
            at = (at + 1) & mask;
        }
        self.places[at] = (index + 1) as u16;
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        if name.len() > COMMAND_NAME_MAX {
            return None;
        }
        let mask = self.places.len() - 1;
        let mut at = hash(name) & mask;
        loop {
            let index = usize::from(self.places[at]).checked_sub(1)?;
            if self.list[index].spec.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
    }

    /// Finds a fast command that accesses only keys, by its short name and number of arguments.
    #[inline]
    pub(crate) fn find_fast(&self, name: &[u8], args: usize) -> Option<(usize, Run)> {
        self.fast.find(name, args)
    }

    pub(crate) fn get(&self, index: usize) -> &Command {
        &self.list[index]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Command> {
        self.list.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}
