//! The order of small hashes and sets is that of Redis.
#![allow(clippy::unwrap_used, missing_docs)]

mod table;

use netdyno_kv_core::{Config, Engine, SessionId, Timestamp};

struct Fixture {
    engine: Engine,
    session: SessionId,
}

impl Fixture {
    fn new() -> Self {
        let mut engine = Engine::new(Config::default(), 5);
        let session = engine.open(Timestamp::default(), "test");
        Self { engine, session }
    }

    fn ask(&mut self, words: &[String]) -> Vec<String> {
        let words: Vec<_> = words.iter().map(String::as_bytes).collect();
        let mut out = Vec::new();
        self.engine.execute(Timestamp::default(), self.session, &words, &mut out);
        table::elements(&String::from_utf8(out).unwrap())
    }

    fn line(&mut self, line: &str) -> Vec<String> {
        self.ask(&table::words(line))
    }
}

#[test]
fn order_matches_redis() {
    let mut fixture = Fixture::new();
    for (command, answer) in table::rows(include_str!("order.txt")) {
        assert_eq!(fixture.ask(&table::words(command)), table::words(answer), "{command}");
    }
}

/// As in Redis since 7.2; in 7.0 these sets are unordered.
#[test]
fn small_sets_of_texts_are_ordered() {
    let mut fixture = Fixture::new();
    fixture.line("SADD s 7 3 pear fig apple");
    assert_eq!(fixture.line("SMEMBERS s"), ["3", "7", "pear", "fig", "apple"]);
    fixture.line("SREM s pear");
    fixture.line("SADD s pear fig");
    assert_eq!(fixture.line("SSCAN s 0"), ["0", "3", "7", "fig", "apple", "pear"]);
    fixture.line("SADD t apple pear 7");
    assert_eq!(fixture.line("SINTER s t"), ["apple", "pear", "7"], "as the smallest");
    fixture.line("SADD many x{1..128}");
    assert_eq!(fixture.line("SMEMBERS many"), table::words("x{1..128}"));
    fixture.line("SADD many x129");
    assert_eq!(fixture.line("SCARD many"), ["129"]);
    let mut members = fixture.line("SMEMBERS many");
    assert_ne!(members, table::words("x{1..129}"));
    members.sort();
    let mut wanted = table::words("x{1..129}");
    wanted.sort();
    assert_eq!(members, wanted);
}

/// A rewritten append-only file reproduces the order.
#[test]
fn a_dump_preserves_the_order() {
    let mut fixture = Fixture::new();
    for line in ["HSET h f{1..200}:v", "HDEL h f{3..90}", "SADD i 5 -3 100", "SADD s pear fig 1 apple"] {
        fixture.line(line);
    }
    fixture.engine.begin_dump();
    let mut commands = Vec::new();
    while !fixture.engine.dump(1 << 20, &mut commands) {}
    let mut again = Fixture::new();
    for words in table::requests(&commands) {
        again.ask(&words);
    }
    for line in ["HGETALL h", "SMEMBERS i", "SMEMBERS s"] {
        assert_eq!(again.line(line), fixture.line(line), "{line}");
    }
}
