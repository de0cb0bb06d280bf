//! Eviction, users and blocking, which the model test does not cover.
#![allow(missing_docs)]

use netdyno_kv_core::{Config, Engine, Outcome, Output, SessionId, Timestamp};

const START: Timestamp = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };

fn run(engine: &mut Engine, session: SessionId, now_ms: u64, line: &str) -> (Outcome, String) {
    let (words, mut out) = (line.split(' ').map(str::as_bytes).collect::<Vec<_>>(), Vec::new());
    let now = Timestamp { unix_ms: START.unix_ms + now_ms, monotonic_us: now_ms * 1000 };
    let outcome = engine.batch(now, session).execute(&words, &mut out);
    (outcome, String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn every_policy_keeps_memory_within_its_limit() {
    for (policy, timed, evicts) in [
        ("noeviction", false, false),
        ("allkeys-lru", false, true),
        ("allkeys-lfu", false, true),
        ("allkeys-random", false, true),
        ("volatile-lru", false, false),
        ("volatile-lru", true, true),
        ("volatile-lfu", true, true),
        ("volatile-random", true, true),
        ("volatile-ttl", true, true),
    ] {
        let mut engine = Engine::new(Config::default(), 3);
        let session = engine.open(START, "test");
        run(&mut engine, session, 0, &format!("CONFIG SET maxmemory 200000 maxmemory-policy {policy}"));
        let mut refused = 0;
        for at in 0..5000 {
            let ttl = if timed { format!(" EX {}", 1000 + at) } else { String::new() };
            let (_, reply) = run(&mut engine, session, at, &format!("SET key:{at} {}{ttl}", "v".repeat(60)));
            refused +=
                usize::from(reply.starts_with("-OOM command not allowed when used memory > 'maxmemory'."));
        }
        assert_eq!(refused == 0, evicts, "{policy} {timed}: {refused}");
        // A command is accepted while there is memory; its own value and the growth of one segment come on
        // top.
        assert!(engine.memory_bytes() < 260_000, "{policy}: {}", engine.memory_bytes());
        assert!(engine.keys() > 500, "{policy}: {}", engine.keys());
        if policy == "volatile-ttl" {
            let (_, reply) = run(&mut engine, session, 5000, "EXISTS key:0 key:4999");
            assert_eq!(reply, ":1\r\n", "the nearest deadline goes first");
        }
    }
}

#[test]
fn acl_rules_are_enforced() {
    let mut engine = Engine::new(Config::default(), 3);
    let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
    let (_, reply) = run(&mut engine, admin, 0, "ACL SETUSER ann on >secret ~ann:* +@read +set -keys &news");
    assert_eq!(reply, "+OK\r\n");
    for (line, expected) in [
        ("AUTH ann wrong", "-WRONGPASS"),
        ("AUTH ann secret", "+OK"),
        ("ACL WHOAMI", "-NOPERM"),
        ("SET ann:1 x", "+OK"),
        ("GET ann:1", "$1"),
        ("GET bob:1", "-NOPERM"),
        ("DEL ann:1", "-NOPERM"),
        ("KEYS *", "-NOPERM"),
        ("MULTI", "-NOPERM"),
    ] {
        let (_, reply) = run(&mut engine, guest, 0, line);
        assert!(reply.starts_with(expected), "{line}: {reply}");
    }
    run(&mut engine, admin, 0, "CONFIG SET requirepass word");
    let late = engine.open(START, "c");
    for (line, expected) in [("GET a", "-NOAUTH"), ("AUTH word", "+OK"), ("GET a", "$-1")] {
        let (_, reply) = run(&mut engine, late, 0, line);
        assert!(reply.starts_with(expected), "{line}: {reply}");
    }
}

#[test]
fn read_and_write_permissions_are_separate() {
    let mut engine = Engine::new(Config::default(), 3);
    let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
    run(&mut engine, admin, 0, "ACL SETUSER ann on nopass %R~r* %W~w* +@all");
    run(&mut engine, admin, 0, "RPUSH r 1 2");
    run(&mut engine, admin, 0, "SET secret_1 word");
    assert_eq!(run(&mut engine, guest, 0, "AUTH ann x").1, "+OK\r\n");
    for (line, allowed) in [
        ("SET w x", true),
        ("SET w x GET", false),
        ("GETDEL w", false),
        ("GETSET w x", false),
        ("INCR w1", false),
        ("LPOP w1", false),
        ("APPEND w x", true),
        ("COPY r w", true),
        ("COPY w r", false),
        ("RENAME r w", false),
        ("LMOVE r w LEFT LEFT", false),
        ("BITFIELD r1 GET u8 0", true),
        ("BITFIELD r1 SET u8 0 1", false),
        ("BITOP NOT w2 r1", true),
        ("BITOP NOT r1 w2", false),
        ("SUNIONSTORE w3 r2 r3", true),
        ("SUNIONSTORE w3 r2 w4", false),
        ("ZUNIONSTORE w3 1 r2", true),
        ("ZRANGESTORE w3 r2 0 1", true),
        ("SORT r STORE w5", true),
        ("SORT r STORE r5", false),
        // Keys that are not arguments.
        ("SORT r BY secret_* ALPHA", false),
        ("SORT r GET secret_*", false),
        ("SORT_RO r GET secret_*", false),
        ("SORT r GET #", true),
        ("SORT r BY nosort", true),
    ] {
        let (_, reply) = run(&mut engine, guest, 0, line);
        let refused = reply.starts_with("-NOPERM") || reply.contains("insufficient ACL permissions");
        assert_eq!(refused, !allowed, "{line}: {reply}");
    }
}

#[test]
fn replies_match_redis() {
    let config = Config::default().with("enable-debug-command", "yes").unwrap();
    let mut engine = Engine::new(config, 3);
    let session = engine.open(START, "a");
    for (line, expected) in [
        ("DEBUG ERROR LOADING", "-LOADING\r\n"),
        // -1 is the maximum of an unsigned field.
        ("BITFIELD bits OVERFLOW SAT SET u8 0 -1 GET u8 0", "*2\r\n:0\r\n:255\r\n"),
        ("BITFIELD bits OVERFLOW FAIL SET u8 0 -1", "*1\r\n$-1\r\n"),
        ("HSET hash a 1", ":1\r\n"),
        ("SADD set a", ":1\r\n"),
        ("ZADD zset 1 a", ":1\r\n"),
        // Redis draws until its memory is exhausted.
        ("HRANDFIELD hash -9223372036854775807", "-ERR value is out of range\r\n"),
        ("SRANDMEMBER set -9223372036854775807", "-ERR value is out of range\r\n"),
        ("ZRANDMEMBER zset -9223372036854775807", "-ERR value is out of range\r\n"),
        ("HRANDFIELD hash -2", "*2\r\n$1\r\na\r\n$1\r\na\r\n"),
    ] {
        assert_eq!(run(&mut engine, session, 0, line).1, expected, "{line}");
    }
    assert_eq!(run(&mut engine, session, 0, "BLMOVE none other LEFT LEFT 1").0, Outcome::Blocked);
    engine.tick(Timestamp { unix_ms: START.unix_ms + 1000, monotonic_us: 0 });
    assert_eq!(engine.poll_output(), Some((session, Output::Resume(b"*-1\r\n".to_vec()))));
}

#[test]
fn client_info_contains_the_library() {
    let mut engine = Engine::new(Config::default(), 3);
    let session = engine.open(START, "a");
    for (option, value) in [("lib-name", "redis-py"), ("LIB-VER", "7.1.0")] {
        assert_eq!(run(&mut engine, session, 0, &format!("CLIENT SETINFO {option} {value}")).1, "+OK\r\n");
    }
    let info = run(&mut engine, session, 0, "CLIENT INFO").1;
    assert!(info.contains(" lib-name=redis-py lib-ver=7.1.0\n"), "{info}");
}

#[test]
fn blocked_sessions_are_served_in_order_or_time_out() {
    let mut engine = Engine::new(Config::default(), 3);
    let [first, second, third, giver] = [0; 4].map(|_| engine.open(START, "x"));
    for (session, line) in [(first, "BLPOP q 0"), (second, "BLPOP q 0"), (third, "BLPOP q 1")] {
        assert_eq!(run(&mut engine, session, 0, line), (Outcome::Blocked, String::new()));
    }
    run(&mut engine, giver, 10, "MULTI");
    run(&mut engine, giver, 10, "RPUSH q one two");
    run(&mut engine, giver, 10, "EXEC");
    for (session, value) in [(first, "one"), (second, "two")] {
        let expected = format!("*2\r\n$1\r\nq\r\n$3\r\n{value}\r\n").into_bytes();
        assert_eq!(engine.poll_output(), Some((session, Output::Resume(expected))));
    }
    assert_eq!(engine.next_deadline(), Some(START.unix_ms + 1000));
    engine.tick(Timestamp { unix_ms: START.unix_ms + 1000, monotonic_us: 0 });
    assert_eq!(engine.poll_output(), Some((third, Output::Resume(b"*-1\r\n".to_vec()))));
    run(&mut engine, giver, 2000, "CLIENT PAUSE 500 WRITE");
    assert_eq!(run(&mut engine, first, 2000, "SET a b").0, Outcome::Blocked);
    assert_eq!(run(&mut engine, second, 2000, "GET a").1, "$-1\r\n");
    engine.tick(Timestamp { unix_ms: START.unix_ms + 2500, monotonic_us: 0 });
    assert_eq!(engine.poll_output(), Some((first, Output::Resume(b"+OK\r\n".to_vec()))));
    assert_eq!(engine.poll_output(), None);
    // Applies to a delayed QUIT too.
    run(&mut engine, giver, 3000, "CLIENT PAUSE 500 ALL");
    assert_eq!(run(&mut engine, first, 3000, "QUIT").0, Outcome::Blocked);
    engine.tick(Timestamp { unix_ms: START.unix_ms + 3500, monotonic_us: 0 });
    assert_eq!(engine.poll_output(), Some((first, Output::Close(b"+OK\r\n".to_vec()))));
}

/// With this many keys, some share a 32-bit hash for any seed; all have the same deadline.
#[test]
fn keys_with_equal_hashes_expire_in_the_background() {
    let mut engine = Engine::new(Config::default(), 3);
    let session = engine.open(START, "a");
    for at in 0..300_000 {
        run(&mut engine, session, 0, &format!("SET {at} x PX 1000"));
    }
    let now = Timestamp { unix_ms: START.unix_ms + 1000, monotonic_us: 0 };
    while engine.next_deadline().is_some_and(|at| at <= now.unix_ms) {
        engine.tick(now);
    }
    assert_eq!((engine.keys(), engine.next_deadline()), (0, None));
}

#[test]
fn client_reply_off_applies_to_blocked_commands() {
    for (mode, first, second) in
        [("ON", "*2\r\n$1\r\na\r\n$1\r\n1\r\n", ":0\r\n"), ("SKIP", "", ":0\r\n"), ("OFF", "", "")]
    {
        let mut engine = Engine::new(Config::default(), 3);
        let (waiting, other) = (engine.open(START, "a"), engine.open(START, "b"));
        run(&mut engine, waiting, 0, &format!("CLIENT REPLY {mode}"));
        assert_eq!(run(&mut engine, waiting, 0, "BLPOP a 0"), (Outcome::Blocked, String::new()));
        run(&mut engine, other, 1, "RPUSH a 1");
        assert_eq!(engine.poll_output(), Some((waiting, Output::Resume(first.into()))), "{mode}");
        assert_eq!(run(&mut engine, waiting, 2, "LLEN a").1, second, "{mode}");
        // The wait has timed out.
        run(&mut engine, waiting, 3, &format!("CLIENT REPLY {mode}"));
        run(&mut engine, waiting, 3, "BLPOP a 1");
        engine.tick(Timestamp { unix_ms: START.unix_ms + 5000, monotonic_us: 5_000_000 });
        let nothing = if mode == "ON" { "*-1\r\n" } else { "" };
        assert_eq!(engine.poll_output(), Some((waiting, Output::Resume(nothing.into()))), "{mode}");
    }
}

thread_local! {
    static STEP_US: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    static NOW_US: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Advances with each reading.
fn stopwatch() -> u64 {
    NOW_US.set(NOW_US.get() + STEP_US.get());
    NOW_US.get()
}

#[test]
fn slow_commands_are_recorded() {
    let mut engine = Engine::new(Config::default(), 3);
    engine.set_stopwatch(stopwatch);
    let session = engine.open(START, "1.2.3.4:5");
    let mut tell = |step_us: u64, line: &str| {
        STEP_US.set(step_us);
        run(&mut engine, session, 0, line).1
    };
    // The threshold is 10 ms; commands that cannot take that long are not timed.
    tell(9_999, "KEYS *");
    let read = NOW_US.get();
    tell(50_000, "GET k");
    tell(50_000, "SET k v");
    assert_eq!((NOW_US.get(), tell(0, "SLOWLOG LEN").as_str()), (read, ":0\r\n"));
    tell(10_000, "KEYS x*");
    assert_eq!(
        tell(0, "SLOWLOG GET"),
        "*1\r\n*6\r\n:0\r\n:1000\r\n:10000\r\n*2\r\n$4\r\nKEYS\r\n$2\r\nx*\r\n$9\r\n1.2.3.4:5\r\n$0\r\n\r\n"
    );
    // All commands are logged; the last three are kept.
    tell(1, "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 3 latency-monitor-threshold 1");
    for at in 0..5 {
        tell(1000 + at, &format!("GET k{at}"));
    }
    let shown = tell(1, "SLOWLOG GET -1");
    assert!(shown.starts_with("*3\r\n") && shown.contains("k4") && !shown.contains("k1"), "{shown}");
    assert_eq!(tell(0, "LATENCY HISTORY fast-command"), "*1\r\n*2\r\n:1000\r\n:1\r\n");
    assert!(
        tell(0, "LATENCY LATEST").starts_with("*1\r\n*4\r\n$12\r\nfast-command\r\n:1000\r\n:1\r\n:1\r\n")
    );
    assert_eq!((tell(0, "LATENCY RESET").as_str(), tell(0, "LATENCY LATEST").as_str()), (":1\r\n", "*0\r\n"));
    tell(1, "CONFIG SET slowlog-log-slower-than -1 latency-monitor-threshold 0");
    tell(0, "SLOWLOG RESET");
    tell(90_000, "KEYS *");
    assert_eq!(tell(0, "SLOWLOG LEN"), ":0\r\n");
}

#[test]
fn the_host_receives_parameters_and_extends_info() {
    let mut engine = Engine::new(Config::default(), 3);
    engine.set_clients_max(100);
    engine.fix_config("appendonly", "ask somebody");
    engine.set_info_source("CPU", || "used_cpu_sys:1.5\r\n".to_owned());
    let session = engine.open(START, "a");
    for (line, expected) in [
        ("CONFIG SET maxclients 100 timeout 7", "+OK"),
        (
            "CONFIG SET maxclients 101",
            "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The server was started for 100 clients",
        ),
        (
            "CONFIG SET maxclients 0",
            "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be between 1",
        ),
        ("CONFIG SET appendonly no", "+OK"),
        (
            "CONFIG SET appendonly yes",
            "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - It cannot be changed at runtime: ask somebody\r\n",
        ),
        ("CONFIG SET timeout -1", "-ERR CONFIG SET failed (possibly related to argument 'timeout')"),
        ("INFO cpu", "$25\r\n# Cpu\r\nused_cpu_sys:1.5\r\n"),
    ] {
        let (_, reply) = run(&mut engine, session, 0, line);
        assert!(reply.starts_with(expected), "{line}: {reply}");
    }
    assert_eq!(engine.take_configured(), ["appendonly", "maxclients", "timeout"]);
    assert!(engine.take_configured().is_empty());
}
