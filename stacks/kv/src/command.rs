//! What a command is, and what it runs in. Each names the other: what runs a command takes its surroundings, and these know
//! all commands.

use netdyno_resp::Reply;

use crate::args::{is, wrong_arguments};
use crate::error::Error;
use crate::keyspace::{Class, Deadline, Keyspace};
use crate::limits::{COMMAND_NAME_MAX, STRING_BYTES_MAX};
use crate::number;
use crate::quick::Quick;
use crate::session::{Blocked, OnTimeout, Session, SessionId, owned};
use crate::spec::{Flags, Group, Keys, Spec};
use crate::world::World;

/// What runs a command. What it has replied is withdrawn if it fails.
pub type Run = fn(&mut Context<'_>, &[&[u8]]) -> Result<(), Error>;

/// A command: data about it, and what runs it.
#[derive(Clone, Copy)]
pub struct Command {
    pub(crate) spec: Spec,
    pub(crate) run: Run,
    /// What its first argument can be, if it holds other commands.
    pub(crate) subcommands: &'static [Subcommand],
}

/// A command in another: name, arity with both names, what runs it.
pub(crate) type Subcommand = (&'static str, i32, Run);

impl Command {
    /// A command with its name in small letters. Its arity counts the name, too; negative, it is the least.
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

    /// Whether it can be run with these arguments, as far as their number tells; and its subcommand, if it has any.
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

/// Whether a command may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It may: it came from a connection by itself.
    Allowed,
    /// In a transaction nothing waits: it is as if the time were over at once.
    Never,
    /// It waits already, and is tried again.
    Again,
}

/// One command's surroundings: the keys of its database, its session, its reply.
pub struct Context<'a> {
    pub(crate) keys: &'a mut Keyspace,
    pub(crate) world: &'a mut World,
    pub(crate) commands: &'a Commands,
    pub(crate) reply: Reply<'a>,
    pub(crate) id: SessionId,
    pub(crate) waiting: Waiting,
    /// It was tried again, and there still is nothing.
    pub(crate) still_waits: bool,
    /// The connection ends after the reply.
    pub(crate) close: bool,
}

impl<'a> Context<'a> {
    /// Where the reply goes.
    pub fn reply(&mut self) -> &mut Reply<'a> {
        &mut self.reply
    }

    /// The string at a key.
    pub fn string(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.keys.string(key)
    }

    /// Sets a string, without a deadline.
    pub fn set_string(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.len() > STRING_BYTES_MAX {
            return Err(Error::TOO_LONG);
        }
        self.keys.set_string(key, value, Deadline::Clear);
        self.keys.changed_by(Class::STRING, "set", key);
        Ok(())
    }

    /// Removes a key; `false` if there is none.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.keys.delete(key)
    }

    pub(crate) fn session(&mut self) -> Result<&mut Session, Error> {
        self.world.sessions.get_mut(self.id).ok_or(Error::fixed("ERR the connection is gone"))
    }

    /// Ends the watches of the session.
    pub(crate) fn forget_watches(&mut self) -> Result<(), Error> {
        let watched = std::mem::take(&mut self.session()?.watched);
        self.keys.watch.forget(self.id, &watched);
        Ok(())
    }

    /// Logs this in place of the command that runs.
    pub(crate) fn log(&mut self, args: &[&[u8]]) {
        self.keys.log.replace(self.keys.db, args);
    }

    /// There is nothing at any of these keys: the session waits for one to get something, or gets a null.
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

    /// When a wait of so many seconds, in text, is over.
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

/// Runs the subcommand that the second argument names.
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

/// The lines of a HELP subcommand.
pub(crate) fn help(context: &mut Context<'_>, container: &str, lines: &[&str]) {
    let reply = context.reply();
    reply.array(lines.len() + 3);
    reply.simple(format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    lines.iter().for_each(|line| reply.simple(line));
    reply.simple("HELP");
    reply.simple("    Print this help.");
}

/// All commands, and where each name stands.
pub(crate) struct Commands {
    list: Vec<Command>,
    /// Open addressing; 0 is empty, else one more than the command's place.
    places: Vec<u16>,
    quick: Quick<Run>,
}

impl std::fmt::Debug for Commands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Commands({})", self.list.len())
    }
}

/// Mixes the name's letters, small ones.
fn hash(name: &[u8]) -> usize {
    let mixed = name.iter().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    (mixed ^ (mixed >> 15)) as usize
}

impl Commands {
    /// All of these.
    pub(crate) fn new(tables: &[&[Command]]) -> Self {
        let mut commands = Self { list: Vec::new(), places: vec![0; 1024], quick: Quick::default() };
        for table in tables {
            table.iter().for_each(|command| commands.add(*command));
        }
        commands
    }

    /// Adds a command, or replaces the one of that name.
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
        self.quick.add(&command.spec, run, index);
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

    /// A command with a short name that is quick and only concerns keys, if it takes so many arguments.
    #[inline]
    pub(crate) fn find_quick(&self, name: &[u8], args: usize) -> Option<(usize, Run)> {
        self.quick.find(name, args)
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
