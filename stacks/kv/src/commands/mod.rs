//! The built-in commands, one file per family.

mod acl;
mod bitfield;
mod bitmap;
mod client;
mod config;
mod connection;
mod counter;
mod debug;
mod expire;
mod hash;
mod hash_scan;
mod host;
mod info;
mod introspect;
mod key;
mod key_scan;
mod lcs;
mod list;
mod list_move;
mod monitor;
mod pubsub;
mod replica;
mod save;
mod server;
mod set;
mod set_algebra;
mod sort;
mod string;
mod string_range;
mod transaction;
mod zset;
mod zset_algebra;
mod zset_pop;
mod zset_range;
mod zset_remove;

use crate::command::{Command, Commands};

const BUILT_IN: &[&[Command]] = &[
    acl::COMMANDS,
    bitfield::COMMANDS,
    bitmap::COMMANDS,
    client::COMMANDS,
    config::COMMANDS,
    connection::COMMANDS,
    counter::COMMANDS,
    debug::COMMANDS,
    expire::COMMANDS,
    hash::COMMANDS,
    hash_scan::COMMANDS,
    host::COMMANDS,
    info::COMMANDS,
    introspect::COMMANDS,
    key::COMMANDS,
    key_scan::COMMANDS,
    lcs::COMMANDS,
    list::COMMANDS,
    list_move::COMMANDS,
    monitor::COMMANDS,
    pubsub::COMMANDS,
    replica::COMMANDS,
    save::COMMANDS,
    server::COMMANDS,
    set::COMMANDS,
    set_algebra::COMMANDS,
    sort::COMMANDS,
    string::COMMANDS,
    string_range::COMMANDS,
    transaction::COMMANDS,
    zset::COMMANDS,
    zset_algebra::COMMANDS,
    zset_pop::COMMANDS,
    zset_range::COMMANDS,
    zset_remove::COMMANDS,
];

/// All built-in commands.
pub(crate) fn all() -> Commands {
    Commands::new(BUILT_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found() {
        let commands = all();
        for (at, command) in commands.iter().enumerate() {
            assert_eq!(commands.find(command.spec.name.as_bytes()), Some(at), "{}", command.spec.name);
            assert_eq!(commands.find(command.spec.name.to_ascii_uppercase().as_bytes()), Some(at));
            assert_eq!(command.spec.name, command.spec.name.to_ascii_lowercase());
        }
        assert_eq!(commands.find(b""), None);
        assert_eq!(commands.find(b"nonesuch"), None);
    }
    #[test]
    fn fast_commands_are_found_by_name() {
        use crate::fast::NAME_BYTES;
        let commands = all();
        for command in commands.iter() {
            let spec = &command.spec;
            let index = commands.find(spec.name.as_bytes());
            let quick = spec.is_fast() && spec.concerns_keys() && spec.name.len() <= NAME_BYTES;
            for args in 0..6 {
                let expected = index.filter(|_| quick && spec.takes(args));
                for name in [spec.name.to_owned(), spec.name.to_uppercase()] {
                    let found = commands.find_fast(name.as_bytes(), args).map(|found| found.0);
                    assert_eq!(found, expected, "{name} of {args}");
                }
            }
        }
        assert!(commands.find_fast(b"gEt", 2).is_none());
    }

    #[test]
    fn a_replaced_command_is_no_longer_fast() {
        let mut commands = all();
        let (flags, keys) = (crate::Flags::ADMIN, crate::Keys::None);
        commands.add(Command::new("get", 2, flags, keys, crate::Group::Server, |_, _| Ok(())));
        assert!(commands.find_fast(b"GET", 2).is_none() && commands.find_fast(b"SET", 3).is_some());
    }
}
