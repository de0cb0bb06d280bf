//! ACL users: which commands, keys and channels each may use.

mod denial;
mod key_use;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

pub(crate) use self::denial::Denial;
use self::key_use::KeyUse;
use crate::error::Error;
use crate::glob;
use crate::limits::{USER_RULES_MAX, USERS_MAX};
use crate::spec::{Spec, is_category};

/// The permitted access to keys that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyRule {
    read: bool,
    write: bool,
    pattern: Box<[u8]>,
}

/// A user. `Debug` does not reveal the password hashes.
#[derive(Clone, Default)]
pub(crate) struct User {
    on: bool,
    no_password: bool,
    passwords: BTreeSet<String>,
    /// Whether commands without a matching rule are allowed, and the rules in order.
    all_commands: bool,
    rules: Vec<(bool, String)>,
    keys: Vec<KeyRule>,
    channels: Vec<Box<[u8]>>,
}

/// Whether a command with this name exists.
type Known<'a> = &'a dyn Fn(&str) -> bool;

/// All users.
#[derive(Debug)]
pub(crate) struct Acl {
    users: BTreeMap<String, User>,
}

fn digest(password: &[u8]) -> String {
    Sha256::digest(password).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares in constant time for texts of equal length.
fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

impl std::fmt::Debug for User {
    /// Without the password hashes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User")
            .field("flags", &self.flags())
            .field("passwords", &self.passwords.len())
            .field("commands", &self.commands_text())
            .field("keys", &self.keys_text())
            .field("channels", &self.channels_text())
            .finish()
    }
}

impl User {
    fn everything() -> Self {
        let all = KeyRule { read: true, write: true, pattern: Box::from(&b"*"[..]) };
        Self {
            on: true,
            no_password: true,
            all_commands: true,
            keys: vec![all],
            channels: vec![Box::from(&b"*"[..])],
            ..Self::default()
        }
    }

    fn allows(&self, command: &Spec, args: &[&[u8]]) -> bool {
        self.rules.iter().fold(self.all_commands, |allowed, (allow, rule)| {
            let meant = match rule.strip_prefix('@') {
                Some(category) => command.is_in(category),
                None => match rule.split_once('|') {
                    Some((name, sub)) => {
                        name == command.name
                            && args.get(1).is_some_and(|a| a.eq_ignore_ascii_case(sub.as_bytes()))
                    }
                    None => rule == command.name,
                },
            };
            if meant { *allow } else { allowed }
        })
    }

    fn may_use_key(&self, key: &[u8], key_use: KeyUse) -> bool {
        self.keys.iter().any(|rule| {
            (rule.read || !key_use.reads)
                && (rule.write || !key_use.writes)
                && glob::matches(&rule.pattern, key)
        })
    }

    /// A pattern is permitted only if a rule names it, as in Redis: it could match more channels than a rule does.
    fn may_use_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.channels.iter().any(|rule| {
            &**rule == b"*" || if is_pattern { **rule == *channel } else { glob::matches(rule, channel) }
        })
    }

    /// The key rules as text.
    pub(crate) fn keys_text(&self) -> String {
        let text = |rule: &KeyRule| {
            let prefix = match (rule.read, rule.write) {
                (true, true) => "~",
                (true, false) => "%R~",
                _ => "%W~",
            };
            format!("{prefix}{}", String::from_utf8_lossy(&rule.pattern))
        };
        self.keys.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn channels_text(&self) -> String {
        let text = |pattern: &[u8]| format!("&{}", String::from_utf8_lossy(pattern));
        self.channels.iter().map(|pattern| text(pattern)).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn commands_text(&self) -> String {
        let base = if self.all_commands { "+@all" } else { "-@all" };
        let rule = |(allow, rule): &(bool, String)| format!(" {}{rule}", if *allow { '+' } else { '-' });
        base.to_owned() + &self.rules.iter().map(rule).collect::<String>()
    }

    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.on { "on" } else { "off" }];
        if self.no_password {
            flags.push("nopass");
        }
        flags
    }

    pub(crate) fn passwords(&self) -> impl ExactSizeIterator<Item = &String> {
        self.passwords.iter()
    }

    /// The format of `ACL LIST`.
    pub(crate) fn line(&self, name: &str) -> String {
        let mut words = vec![format!("user {name} {}", self.flags().join(" "))];
        words.extend(self.passwords.iter().map(|hash| format!("#{hash}")));
        words.extend([self.keys_text(), self.channels_text()].into_iter().filter(|text| !text.is_empty()));
        if self.channels.is_empty() {
            words.push("resetchannels".into());
        }
        words.push(self.commands_text());
        words.join(" ")
    }

    fn rule(&mut self, text: &str, known: Known<'_>) -> Result<(), &'static str> {
        let full = self.rules.len() + self.keys.len() + self.channels.len() >= USER_RULES_MAX;
        match text.to_ascii_lowercase().as_str() {
            "on" => self.on = true,
            "off" => self.on = false,
            "nopass" => {
                self.no_password = true;
                self.passwords.clear();
            }
            "resetpass" => {
                self.no_password = false;
                self.passwords.clear();
            }
            "allkeys" => return self.rule("~*", known),
            "resetkeys" => self.keys.clear(),
            "allchannels" => self.channels = vec![Box::from(&b"*"[..])],
            "resetchannels" => self.channels.clear(),
            "allcommands" | "+@all" => (self.all_commands, self.rules) = (true, Vec::new()),
            "nocommands" | "-@all" => (self.all_commands, self.rules) = (false, Vec::new()),
            "reset" => *self = Self::default(),
            "clearselectors" | "sanitize-payload" | "skip-sanitize-payload" => {}
            _ if full => return Err("Too many rules"),
            _ => return self.prefixed(text, known),
        }
        Ok(())
    }

    fn prefixed(&mut self, text: &str, known: Known<'_>) -> Result<(), &'static str> {
        let Some((first, rest)) = text.split_at_checked(1) else { return Err("Syntax error") };
        match first {
            ">" => {
                self.no_password = false;
                self.passwords.insert(digest(rest.as_bytes()));
            }
            "<" if !self.passwords.remove(&digest(rest.as_bytes())) => {
                return Err("The password you are trying to remove from the user does not exist");
            }
            "#" | "!"
                if rest.len() != 64 || rest.bytes().any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f')) =>
            {
                return Err(
                    "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
                );
            }
            "#" => {
                self.no_password = false;
                self.passwords.insert(rest.to_owned());
            }
            "!" if !self.passwords.remove(rest) => {
                return Err("The password you are trying to remove from the user does not exist");
            }
            "<" | "!" => {}
            "~" => self.key_rule(true, true, rest)?,
            "%" => {
                let (rights, pattern) = rest.split_once('~').ok_or("Syntax error")?;
                let rights = rights.to_ascii_uppercase();
                if rights.is_empty() || rights.bytes().any(|b| !matches!(b, b'R' | b'W')) {
                    return Err("Syntax error");
                }
                self.key_rule(rights.contains('R'), rights.contains('W'), pattern)?;
            }
            "&" if self.channels.iter().any(|c| &**c == b"*") && rest != "*" => {
                return Err(
                    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels",
                );
            }
            "&" => self.channels.push(rest.as_bytes().into()),
            "+" | "-" => {
                let rest = rest.to_ascii_lowercase();
                match rest.strip_prefix('@') {
                    Some(category) if !is_category(category) => {
                        return Err("Unknown command or category name in ACL");
                    }
                    None if !known(rest.split('|').next().unwrap_or_default()) => {
                        return Err("Unknown command or category name in ACL");
                    }
                    _ => {}
                }
                self.rules.retain(|(_, rule)| *rule != rest);
                self.rules.push((first == "+", rest));
            }
            _ => return Err("Syntax error"),
        }
        Ok(())
    }

    fn key_rule(&mut self, read: bool, write: bool, pattern: &str) -> Result<(), &'static str> {
        if self.keys.iter().any(|rule| rule.read && rule.write && &*rule.pattern == b"*") && pattern != "*" {
            return Err(
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
            );
        }
        let rule = KeyRule { read, write, pattern: pattern.as_bytes().into() };
        if !self.keys.contains(&rule) {
            self.keys.push(rule);
        }
        Ok(())
    }
}

impl Acl {
    pub(crate) fn new(password: &str) -> Self {
        let mut acl = Self { users: BTreeMap::from([("default".to_owned(), User::everything())]) };
        acl.set_password(password);
        acl
    }

    /// Sets the default user's password (`requirepass`); an empty one means none.
    pub(crate) fn set_password(&mut self, password: &str) {
        if let Some(user) = self.users.get_mut("default") {
            user.no_password = password.is_empty();
            user.passwords.clear();
            if !password.is_empty() {
                user.passwords.insert(digest(password.as_bytes()));
            }
        }
    }

    /// Whether a connection needs no authentication.
    pub(crate) fn is_open(&self) -> bool {
        self.users.get("default").is_some_and(|user| user.on && user.no_password)
    }

    pub(crate) fn accepts(&self, name: &str, password: &[u8]) -> bool {
        let Some(user) = self.users.get(name).filter(|user| user.on) else { return false };
        let hash = digest(password);
        user.no_password
            || user.passwords.iter().fold(false, |found, other| found | constant_time_eq(other, &hash))
    }

    /// Whether the user may do everything, so that checks can be skipped.
    pub(crate) fn is_unrestricted(&self, name: &str) -> bool {
        self.users.get(name).is_some_and(|user| {
            let keys = user.keys.iter().any(|rule| rule.read && rule.write && &*rule.pattern == b"*");
            user.all_commands && user.rules.is_empty() && keys && user.channels.iter().any(|c| &**c == b"*")
        })
    }

    /// Whether a user may read keys that are not arguments, as the patterns of SORT do.
    pub(crate) fn reads_any_key(&self, name: &str) -> bool {
        self.users
            .get(name)
            .is_some_and(|user| user.keys.iter().any(|rule| rule.read && &*rule.pattern == b"*"))
    }

    pub(crate) fn users(&self) -> impl ExactSizeIterator<Item = (&String, &User)> {
        self.users.iter()
    }

    pub(crate) fn user(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    pub(crate) fn delete(&mut self, name: &str) -> bool {
        self.users.remove(name).is_some()
    }

    /// Creates or changes a user; applies all rules or none.
    pub(crate) fn set(&mut self, name: &str, rules: &[&[u8]], known: Known<'_>) -> Result<(), Error> {
        if self.users.len() >= USERS_MAX && !self.users.contains_key(name) {
            return Err(Error::fixed("ERR too many users"));
        }
        let mut user = self.users.get(name).cloned().unwrap_or_default();
        for rule in rules {
            let text = String::from_utf8_lossy(rule);
            user.rule(&text, known)
                .map_err(|why| Error::new(format!("ERR Error in ACL SETUSER modifier '{text}': {why}")))?;
        }
        self.users.insert(name.to_owned(), user);
        Ok(())
    }

    /// Checks whether a user may run this command with these arguments.
    pub(crate) fn check(&self, name: &str, command: &Spec, args: &[&[u8]]) -> Result<(), Denial> {
        let Some(user) = self.users.get(name) else {
            return Err(Denial::User);
        };
        if !user.allows(command, args) {
            let container = matches!(
                command.name,
                "acl" | "client" | "config" | "command" | "object" | "memory" | "pubsub"
            );
            let full = match args.get(1).filter(|_| container) {
                Some(sub) => {
                    format!("{}|{}", command.name, String::from_utf8_lossy(sub).to_ascii_lowercase())
                }
                None => command.name.to_owned(),
            };
            return Err(Denial::Command(full));
        }
        let may = |at: usize| user.may_use_key(args[at], KeyUse::new(command, at, args));
        if !command.keys.positions(args).all(may) {
            return Err(Denial::Key);
        }
        let channels: &[&[u8]] = match command.name {
            "publish" | "spublish" => &args[1..2],
            "subscribe" | "ssubscribe" | "psubscribe" => &args[1..],
            _ => &[],
        };
        let is_pattern = command.name == "psubscribe";
        if !channels.iter().all(|channel| user.may_use_channel(channel, is_pattern)) {
            return Err(Denial::Channel);
        }
        Ok(())
    }

    /// Whether a user may be subscribed to this channel, or to this pattern of channels.
    pub(crate) fn may_listen(&self, name: &str, channel: &[u8], is_pattern: bool) -> bool {
        self.users.get(name).is_some_and(|user| user.may_use_channel(channel, is_pattern))
    }
}
