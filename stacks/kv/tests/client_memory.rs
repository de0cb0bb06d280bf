//! `maxmemory-clients`: the memory of clients is counted, and those that hold most are disconnected.
#![allow(missing_docs)]

use netdyno_kv_core::{Buffers, Config, Engine, Output, SessionId, Timestamp};

const START: Timestamp = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };
/// `maxmemory-clients`.
const LIMIT: usize = 1 << 20;
/// Bytes that a client holds in each row: more than the limit.
const LARGE: usize = LIMIT + (LIMIT >> 2);

fn run(engine: &mut Engine, session: SessionId, words: &[&[u8]]) -> String {
    let mut out = Vec::new();
    engine.execute(START, session, words, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn engine() -> Engine {
    Engine::new(Config::default().with("maxmemory-clients", &LIMIT.to_string()).expect("valid"), 1)
}

/// The value of a field in a text of `field:value` lines or `field=value` words.
fn field(text: &str, name: &str) -> u64 {
    let rest = text.split_once(&format!("{name}:")).or_else(|| text.split_once(&format!("{name}=")));
    let rest = rest.unwrap_or_else(|| panic!("no {name} in {text}")).1;
    rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|text| text.parse().ok()).expect("a number")
}

fn outputs(engine: &mut Engine) -> Vec<(SessionId, Output)> {
    std::iter::from_fn(|| engine.poll_output()).collect()
}

const NONE: Buffers = Buffers { unread: 0, unread_capacity: 0, unsent: 0, unsent_capacity: 0 };

/// A way in which a client holds memory. Returns the sizes of its buffers in the host.
type Hold = fn(&mut Engine, SessionId) -> Buffers;

fn queued(engine: &mut Engine, session: SessionId) -> Buffers {
    run(engine, session, &[b"MULTI"]);
    for _ in 0..LARGE / 64 {
        run(engine, session, &[b"PING"]);
    }
    NONE
}

/// Runs a command with enough different names.
fn with_names(engine: &mut Engine, session: SessionId, command: &[u8]) -> Buffers {
    for number in 0..LARGE / 128 {
        run(engine, session, &[command, format!("{number}").as_bytes()]);
    }
    NONE
}

const HOLDS: &[(&str, Hold)] = &[
    ("unexecuted input", |_, _| Buffers { unread: LARGE, ..NONE }),
    ("unread output", |_, _| Buffers { unsent: LARGE, ..NONE }),
    ("a large buffer with little input", |_, _| Buffers { unread: 1, unread_capacity: LARGE, ..NONE }),
    ("a large buffer with little output", |_, _| Buffers { unsent: 1, unsent_capacity: LARGE, ..NONE }),
    ("a transaction of short commands", queued),
    ("watched keys", |engine, session| with_names(engine, session, b"WATCH")),
    ("channels", |engine, session| with_names(engine, session, b"SUBSCRIBE")),
    ("patterns", |engine, session| with_names(engine, session, b"PSUBSCRIBE")),
    ("shard channels", |engine, session| with_names(engine, session, b"SSUBSCRIBE")),
    ("a command that waits", |engine, session| {
        run(engine, session, &[b"BLPOP", &vec![b'k'; LARGE], b"0"]);
        NONE
    }),
    ("a long name", |engine, session| {
        run(engine, session, &[b"CLIENT", b"SETNAME", &vec![b'n'; LARGE]]);
        NONE
    }),
    ("uncollected messages", |engine, session| {
        run(engine, session, &[b"SUBSCRIBE", b"news"]);
        let publisher = engine.open(START, "publisher");
        run(engine, publisher, &[b"PUBLISH", b"news", &vec![b'm'; LARGE]]);
        NONE
    }),
];

#[test]
fn clients_that_hold_most_are_disconnected() {
    for (name, hold) in HOLDS {
        let mut engine = engine();
        let [honest, abuser] = ["honest", "abuser"].map(|peer| engine.open(START, peer));
        let buffers = hold(&mut engine, abuser);
        engine.note_buffers(honest, Buffers { unread: 1000, unsent: 1000, ..NONE });
        engine.note_buffers(abuser, buffers);
        let list = run(&mut engine, honest, &[b"CLIENT", b"LIST"]);
        let line = list.lines().find(|line| line.contains("addr=abuser")).expect(name);
        assert!(field(line, "tot-mem") > LIMIT as u64, "{name}: {line}");
        assert!(engine.exceeds_client_memory(), "{name}");
        engine.evict_clients();
        assert!(!engine.exceeds_client_memory(), "{name}");
        assert_eq!(outputs(&mut engine), [(abuser, Output::Abort)], "{name}");
        let stats = run(&mut engine, honest, &[b"INFO", b"stats"]);
        assert_eq!(field(&stats, "evicted_clients"), 1, "{name}");
        // Its part is subtracted once.
        engine.close(abuser);
        engine.note_buffers(honest, Buffers { unread: LIMIT - 1, ..NONE });
        assert!(!engine.exceeds_client_memory(), "{name}");
    }
}

#[test]
fn released_memory_does_not_count() {
    for (hold, release) in [
        (&["MULTI", "SET k value"][..], "DISCARD"),
        (&["WATCH key", "WATCH other key"], "UNWATCH"),
        (&["SUBSCRIBE a b"], "UNSUBSCRIBE a b"),
        (&["PSUBSCRIBE a* b*"], "PUNSUBSCRIBE"),
        (&["SUBSCRIBE a", "PSUBSCRIBE a", "SSUBSCRIBE a"], "RESET"),
    ] {
        let mut engine = engine();
        let [other, session] = ["other", "one"].map(|peer| engine.open(START, peer));
        let total = |engine: &mut Engine| {
            let list = run(engine, other, &[b"CLIENT", b"LIST"]);
            field(list.lines().find(|line| line.contains("addr=one")).expect("is listed"), "tot-mem")
        };
        let run_line = |engine: &mut Engine, line: &str| {
            run(engine, session, &line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        };
        assert_eq!(total(&mut engine), 0);
        hold.iter().for_each(|line| run_line(&mut engine, line));
        assert!(total(&mut engine) > 0, "{hold:?}");
        run_line(&mut engine, release);
        assert_eq!(total(&mut engine), 0, "{hold:?}");
    }
}

#[test]
fn exempt_clients_are_not_disconnected() {
    let mut engine = engine();
    let [exempt, large, small] = ["exempt", "large", "small"].map(|peer| engine.open(START, peer));
    run(&mut engine, exempt, &[b"CLIENT", b"NO-EVICT", b"ON"]);
    for (session, bytes) in [(exempt, 3 * LIMIT / 4), (large, LIMIT / 2), (small, LIMIT / 8)] {
        engine.note_buffers(session, Buffers { unread: bytes, ..NONE });
    }
    engine.evict_clients();
    assert_eq!(outputs(&mut engine), [(large, Output::Abort)]);
    // A limit set at runtime applies to the next check; 0 disables it.
    run(&mut engine, small, &[b"CONFIG", b"SET", b"maxmemory-clients", b"0"]);
    assert!(!engine.exceeds_client_memory());
    run(&mut engine, small, &[b"CONFIG", b"SET", b"maxmemory-clients", b"1kb"]);
    assert!(engine.exceeds_client_memory());
}

/// The unread output of a replica has a separate limit. If it counted here, a slow replica would disconnect all clients.
#[test]
fn replicas_do_not_count() {
    let mut engine = engine();
    let [replica, client] = ["replica", "client"].map(|peer| engine.open(START, peer));
    run(&mut engine, replica, &[b"REPLCONF", b"capa", b"eof"]);
    run(&mut engine, replica, &[b"PSYNC", b"?", b"-1"]);
    engine.note_buffers(replica, Buffers { unsent: LARGE, ..NONE });
    engine.note_buffers(client, Buffers { unread: 1000, ..NONE });
    assert!(!engine.exceeds_client_memory());
    engine.evict_clients();
    assert_eq!(outputs(&mut engine), []);
}

/// A message queue above its limit is not sent: the client may not read.
#[test]
fn too_many_messages_in_one_iteration_abort_the_subscriber() {
    let mut engine = engine();
    let [subscriber, publisher] = ["subscriber", "publisher"].map(|peer| engine.open(START, peer));
    run(&mut engine, subscriber, &[b"SUBSCRIBE", b"news"]);
    let message = vec![b'm'; 1 << 20];
    for _ in 0..33 {
        run(&mut engine, publisher, &[b"PUBLISH", b"news", &message]);
    }
    assert_eq!(outputs(&mut engine), [(subscriber, Output::Abort)]);
    let stats = run(&mut engine, publisher, &[b"INFO", b"stats"]);
    assert_eq!(field(&stats, "client_output_buffer_limit_disconnections"), 1);
}

#[test]
fn wrong_passwords_are_counted() {
    let mut engine = Engine::new(Config::default().with("requirepass", "right").expect("valid"), 1);
    let session = engine.open(START, "test");
    for _ in 0..3 {
        assert!(run(&mut engine, session, &[b"AUTH", b"wrong"]).starts_with("-WRONGPASS"));
    }
    assert!(
        run(&mut engine, session, &[b"HELLO", b"3", b"AUTH", b"default", b"wrong"]).starts_with("-WRONGPASS")
    );
    run(&mut engine, session, &[b"AUTH", b"right"]);
    assert_eq!(field(&run(&mut engine, session, &[b"INFO", b"stats"]), "acl_access_denied_auth"), 4);
    run(&mut engine, session, &[b"CONFIG", b"RESETSTAT"]);
    assert_eq!(field(&run(&mut engine, session, &[b"INFO", b"stats"]), "acl_access_denied_auth"), 0);
}

/// With a search through all watched keys for each of them, this takes an hour.
#[test]
fn watching_many_keys_takes_bounded_time() {
    let mut engine = Engine::new(Config::default(), 1);
    let session = engine.open(START, "test");
    let keys: Vec<_> = (0..300_000).map(|number| format!("key:{number}")).collect();
    let mut words: Vec<&[u8]> = vec![b"WATCH"];
    words.extend(keys.iter().map(String::as_bytes));
    assert_eq!(run(&mut engine, session, &words), "+OK\r\n");
    assert_eq!(run(&mut engine, session, &[b"UNWATCH"]), "+OK\r\n");
}
