//! The table of commands: found by name in capitals or not, without an allocation.

use super::{Command, Flags};
use crate::limits::COMMAND_NAME_MAX;

/// All commands, and where each name stands.
pub(crate) struct Commands {
    list: Vec<Command>,
    /// Open addressing; 0 is empty, else one more than the command's place.
    places: Vec<u16>,
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
    /// Those that are built in.
    pub(crate) fn new() -> Self {
        let mut commands = Self { list: Vec::new(), places: vec![0; 1024] };
        for table in super::BUILT_IN {
            table.iter().for_each(|command| commands.add(*command));
        }
        commands
    }

    /// Adds a command, or replaces the one of that name.
    pub(crate) fn add(&mut self, command: Command) {
        if let Some(index) = self.find(command.name.as_bytes()) {
            self.list[index] = command;
            return;
        }
        if self.list.len() * 2 >= self.places.len() {
            self.places = vec![0; self.places.len() * 2];
            for index in 0..self.list.len() {
                self.enter(index);
            }
        }
        self.list.push(command);
        self.enter(self.list.len() - 1);
    }

    fn enter(&mut self, index: usize) {
        let mask = self.places.len() - 1;
        let mut at = hash(self.list[index].name.as_bytes()) & mask;
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
            if self.list[index].name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(index);
            }
            at = (at + 1) & mask;
        }
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

impl Command {
    /// Runs at once although a transaction is open.
    pub(crate) fn ends_transaction(&self) -> bool {
        matches!(self.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset")
    }

    /// Categories of access control, as ACL names them.
    pub(crate) fn is_in(&self, category: &str) -> bool {
        use super::Group;
        let group = |wanted: Group| self.group == wanted;
        match category {
            "all" => true,
            "keyspace" => group(Group::Generic),
            "read" => self.flags.contains(Flags::READ_ONLY),
            "write" => self.flags.contains(Flags::WRITE),
            "set" => group(Group::Set),
            "sortedset" => group(Group::SortedSet),
            "list" => group(Group::List),
            "hash" => group(Group::Hash),
            "string" => group(Group::String),
            "bitmap" => group(Group::Bitmap),
            "pubsub" => group(Group::PubSub),
            "admin" => self.flags.contains(Flags::ADMIN),
            "fast" => self.flags.contains(Flags::FAST),
            "slow" => !self.flags.contains(Flags::FAST),
            "blocking" => self.flags.contains(Flags::BLOCKING),
            "dangerous" => self.flags.contains(Flags::DANGEROUS.with(Flags::ADMIN)),
            "connection" => group(Group::Connection),
            "transaction" => group(Group::Transactions),
            _ => false,
        }
    }
}

/// The categories that `ACL CAT` lists.
pub(crate) const CATEGORIES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found() {
        let commands = Commands::new();
        for (at, command) in commands.iter().enumerate() {
            assert_eq!(commands.find(command.name.as_bytes()), Some(at), "{}", command.name);
            assert_eq!(commands.find(command.name.to_ascii_uppercase().as_bytes()), Some(at));
            assert_eq!(command.name, command.name.to_ascii_lowercase());
        }
        assert_eq!(commands.find(b""), None);
        assert_eq!(commands.find(b"nonesuch"), None);
    }
}
