//! Executes arbitrary commands of three sessions on one keyspace: every reply is complete, and replaying the log yields the same
//! keyspace.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use netdyno_kv_core::{Config, Engine, Outcome, SessionId, Timestamp};
use netdyno_resp::{Args, Progress, ReplyLimits, ReplyParser, RequestLimits, RequestParser};

/// Names of commands and options, keys and values, from which most arguments are chosen.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "a", "b", "c", "k1", "0", "1", "-1", "2", "3", "10", "-5", "1.5", "inf", "(1", "[a", "+", "-", "*", "#1", "u8", "i64", "x*", "",
    "9223372036854775807", "-9223372036854775808", "a long value that has to stand in an allocation of its own, as long as this",
    "NX", "XX", "GT", "LT", "CH", "INCR", "EX", "PX", "PXAT", "KEEPTTL", "GET", "SET", "COUNT", "MATCH", "LIMIT", "BY", "STORE",
    "WITHSCORES", "BYSCORE", "BYLEX", "REV", "LEFT", "RIGHT", "MIN", "MAX", "WEIGHTS", "AGGREGATE", "SUM", "RANK", "MAXLEN",
    "BEFORE", "AFTER", "BIT", "BYTE", "AND", "NOT", "INCRBY", "OVERFLOW", "SAT", "FAIL", "IDX", "LEN", "ALPHA", "DESC", "REPLACE",
    "DB", "TYPE", "string", "ID", "LIST", "KILL", "SETNAME", "SETUSER", "u", "on", "nopass", "+@all", "-get", "~k*", "default",
    "maxmemory", "20000", "allkeys-lru", "volatile-ttl", "RESETSTAT", "PAUSE", "UNPAUSE", "REPLY", "OFF", "SKIP", "ON",
];

#[derive(Debug, Arbitrary)]
struct Step<'a> {
    session: u8,
    command: u8,
    words: Vec<u8>,
    other: Option<&'a [u8]>,
    wait_ms: u16,
}

/// Whether a reply consists of complete values.
fn is_whole(mut reply: &[u8]) -> bool {
    let mut parser = ReplyParser::new(ReplyLimits::default());
    while !reply.is_empty() {
        match parser.next(reply) {
            Ok(Some((_, bytes))) => reply = &reply[bytes..],
            _ => return false,
        }
    }
    parser.is_whole()
}

fn names() -> Vec<String> {
    let mut engine = Engine::new(Config::default(), 1);
    let (now, mut out) = (Timestamp::default(), Vec::new());
    let session = engine.open(now, "names");
    engine.execute(now, session, &[b"COMMAND", b"LIST"], &mut out);
    let text = String::from_utf8_lossy(&out).into_owned();
    text.split("\r\n")
        .filter(|line| !line.is_empty() && !line.starts_with(['$', '*']))
        .map(str::to_owned)
        .collect()
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    static NAMES: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(names);
    let mut engine = Engine::new(Config::default(), 7);
    let mut now = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };
    let mut sessions: Vec<SessionId> = (0..3).map(|_| engine.open(now, "peer")).collect();
    let mut blocked = [false; 3];
    engine.record(true);
    let mut log = Vec::new();
    for step in steps.iter().take(500) {
        now.unix_ms += u64::from(step.wait_ms % 100);
        engine.tick(now);
        let at = usize::from(step.session) % 3;
        let name = &NAMES[usize::from(step.command) % NAMES.len()];
        let words = step.words.iter().take(12).map(|word| WORDS[usize::from(*word) % WORDS.len()].as_bytes());
        let args: Vec<&[u8]> = [name.as_bytes()].into_iter().chain(words).chain(step.other).collect();
        let mut out = Vec::new();
        if !blocked[at] {
            let outcome = engine.batch(now, sessions[at]).execute(&args, &mut out);
            match outcome {
                Outcome::Continue => assert!(is_whole(&out), "{}", String::from_utf8_lossy(&out)),
                Outcome::Blocked => blocked[at] = true,
                Outcome::Close => {
                    engine.close(sessions[at]);
                    sessions[at] = engine.open(now, "peer");
                }
            }
        }
        while let Some((session, output)) = engine.poll_output() {
            let Some(at) = sessions.iter().position(|other| *other == session) else { continue };
            match output {
                netdyno_kv_core::Output::Bytes(bytes) => assert!(is_whole(&bytes)),
                netdyno_kv_core::Output::Resume(bytes) => {
                    assert!(is_whole(&bytes));
                    blocked[at] = false;
                }
                netdyno_kv_core::Output::Close(_) | netdyno_kv_core::Output::Abort => {
                    engine.close(session);
                    sessions[at] = engine.open(now, "peer");
                    blocked[at] = false;
                }
            }
        }
        log.append(engine.take_log());
        assert!(engine.memory_bytes() < 1 << 40, "the memory counter is negative");
    }
    // Replaying the log yields the same number of keys.
    let mut again = Engine::new(Config::default(), 8);
    let session = again.open(now, "log");
    let (mut parser, mut args, mut rest) =
        (RequestParser::new(RequestLimits::default()), Args::default(), &log[..]);
    while let Ok(Progress::Complete(bytes)) = parser.parse(rest, &mut args) {
        let words: Vec<&[u8]> = args.iter(rest).collect();
        let mut out = Vec::new();
        again.execute(Timestamp { unix_ms: 0, monotonic_us: 0 }, session, &words, &mut out);
        rest = &rest[bytes..];
    }
    engine.tick(now);
    again.tick(now);
    assert_eq!(engine.keys(), again.keys());
});
