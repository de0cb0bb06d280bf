//! MONITOR: sessions that receive every command.

use std::fmt::Write as _;

use crate::session::{SessionId, Sessions};
use crate::slow::redacted;
use crate::spec::{Flags, Spec};
use crate::timestamp::Timestamp;

/// The monitoring sessions. Costs one comparison per batch while there are none.
#[derive(Debug, Default)]
pub(crate) struct Monitors(Vec<SessionId>);

impl Monitors {
    pub(crate) fn add(&mut self, id: SessionId) {
        if !self.has(id) {
            self.0.push(id);
        }
    }

    pub(crate) fn forget(&mut self, id: SessionId) {
        self.0.retain(|other| *other != id);
    }

    pub(crate) fn has(&self, id: SessionId) -> bool {
        self.0.contains(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports a command of `id`. Administrative commands and passwords are omitted.
    pub(crate) fn report(
        &self,
        sessions: &mut Sessions,
        now: Timestamp,
        (id, db): (SessionId, usize),
        spec: &Spec,
        args: &[&[u8]],
    ) {
        if spec.flags.contains(Flags::ADMIN) || matches!(spec.name, "auth" | "hello" | "exec") {
            return;
        }
        let peer = sessions.get(id).map(|session| session.peer.clone()).unwrap_or_default();
        let line = line(now, db, &peer, &redacted(spec.name, args));
        for monitor in &self.0 {
            sessions.send(*monitor, |reply| reply.simple(&line));
        }
    }
}

/// The time in seconds, database and address, then each argument in quotes.
fn line(now: Timestamp, db: usize, peer: &str, args: &[&[u8]]) -> String {
    let (seconds, rest) = (now.unix_ms / 1000, now.unix_ms % 1000 * 1000);
    let mut line = format!("{seconds}.{rest:06} [{db} {peer}]");
    for arg in args {
        line.push_str(" \"");
        for byte in *arg {
            match byte {
                b'\\' | b'"' => line.extend(['\\', char::from(*byte)]),
                b'\n' => line.push_str("\\n"),
                b'\r' => line.push_str("\\r"),
                b'\t' => line.push_str("\\t"),
                7 => line.push_str("\\a"),
                8 => line.push_str("\\b"),
                b' '..=b'~' => line.push(char::from(*byte)),
                // Writing to a string cannot fail.
                _ => drop(write!(line, "\\x{byte:02x}")),
            }
        }
        line.push('"');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Engine, Output};

    #[test]
    fn arguments_are_quoted() {
        let now = Timestamp { unix_ms: 1_700_000_000_042, monotonic_us: 0 };
        assert_eq!(
            line(now, 3, "127.0.0.1:9", &[b"set", b"a\"\\\r\n\t\x07\x08", b"\x00\xff ~"]),
            r#"1700000000.042000 [3 127.0.0.1:9] "set" "a\"\\\r\n\t\a\b" "\x00\xff ~""#
        );
    }

    #[test]
    fn administrative_commands_are_not_reported() {
        let now = Timestamp { unix_ms: 5000, monotonic_us: 0 };
        let mut engine = Engine::new(Config::default(), 1);
        let (monitor, other) = (engine.open(now, "m"), engine.open(now, "o"));
        let run = |engine: &mut Engine, session, line: &str| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let mut out = Vec::new();
            engine.execute(now, session, &words, &mut out);
            let mut reported = String::new();
            while let Some((to, Output::Bytes(bytes))) = engine.poll_output() {
                assert_eq!(to, monitor);
                reported += &String::from_utf8(bytes).unwrap();
            }
            reported.replace("\r\n", "|")
        };
        assert_eq!(run(&mut engine, other, "GET k"), "");
        assert_eq!(run(&mut engine, monitor, "MONITOR"), "");
        for (line, reported) in [
            ("GET k", r#"+5.000000 [0 o] "GET" "k"|"#),
            ("SELECT 2", r#"+5.000000 [0 o] "SELECT" "2"|"#),
            ("LPUSH k v", r#"+5.000000 [2 o] "LPUSH" "k" "v"|"#),
            ("MULTI", r#"+5.000000 [2 o] "MULTI"|"#),
            ("SET a b", ""),
            ("EXEC", r#"+5.000000 [2 o] "SET" "a" "b"|"#),
            ("AUTH secret", ""),
            ("HELLO 2", ""),
            ("CONFIG SET requirepass secret", ""),
            ("CONFIG SET requirepass ", ""),
            ("NONESUCH", ""),
        ] {
            assert_eq!(run(&mut engine, other, line), reported, "{line}");
        }
        assert!(run(&mut engine, monitor, "RESET").starts_with("+5"));
        assert_eq!(run(&mut engine, other, "GET k"), "");
        run(&mut engine, monitor, "MONITOR");
        engine.close(monitor);
        assert_eq!(run(&mut engine, other, "GET k"), "");
    }
}
