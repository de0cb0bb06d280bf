//! Restrictions on what an untrusted or less privileged client can do.
#![allow(missing_docs)]

use netdyno_kv_core::{Config, Engine, SessionId, Timestamp};

const START: Timestamp = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };

fn run(engine: &mut Engine, session: SessionId, line: &str) -> String {
    let (words, mut out) = (line.split(' ').map(str::as_bytes).collect::<Vec<_>>(), Vec::new());
    engine.execute(START, session, &words, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn check(engine: &mut Engine, session: SessionId, line: &str, expected: &str) {
    let reply = run(engine, session, line);
    assert!(reply.starts_with(expected), "{line}: {reply}");
}

#[test]
fn debug_is_disabled_by_default() {
    let local = "10.0.0.1:1";
    for (value, peer, allowed) in [
        (None, "127.0.0.1:1", false),
        (Some("no"), "127.0.0.1:1", false),
        (Some("local"), "127.0.0.1:1", true),
        (Some("local"), "[::1]:1", true),
        (Some("local"), local, false),
        (Some("yes"), local, true),
    ] {
        let mut config = Config::default();
        if let Some(value) = value {
            config = config.with("enable-debug-command", value).unwrap();
        }
        let mut engine = Engine::new(config, 1);
        let session = engine.open(START, peer);
        let expected = if allowed { "+OK" } else { "-ERR DEBUG command not allowed" };
        check(&mut engine, session, "DEBUG JMAP", expected);
        check(
            &mut engine,
            session,
            "CONFIG SET enable-debug-command yes",
            "-ERR CONFIG SET failed (possibly related to argument 'enable-debug-command') - can't set immutable config",
        );
    }
}

/// Without a bound, this takes hours.
#[test]
fn a_glob_match_takes_bounded_time() {
    let mut engine = Engine::new(Config::default().with("enable-debug-command", "yes").unwrap(), 1);
    let session = engine.open(START, "test");
    let pattern = format!("*{}b", "a".repeat(4000));
    check(
        &mut engine,
        session,
        &format!("DEBUG STRINGMATCH-LEN 536870912 {pattern}"),
        "-ERR value is out of range",
    );
    check(&mut engine, session, "DEBUG STRINGMATCH-LEN 100000 a*a", ":1");
    let long = "a".repeat(4 << 20);
    assert_eq!(run(&mut engine, session, &format!("SET {long} 1")), "+OK\r\n");
    check(&mut engine, session, &format!("KEYS {pattern}"), "*0");
    check(&mut engine, session, "KEYS a*a", "*1");
    check(&mut engine, session, "KEYS *a", "*1");
}

/// As in Redis, words of other options are not mistaken for STORE.
#[test]
fn sort_checks_the_key_it_writes() {
    let mut engine = Engine::new(Config::default(), 1);
    let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
    run(&mut engine, admin, "ACL SETUSER ann on nopass ~src ~ASC ~store ~own* %R~* resetchannels +@all");
    run(&mut engine, admin, "RPUSH src 2 1");
    run(&mut engine, guest, "AUTH ann x");
    for (line, allowed) in [
        ("SORT src STORE own", true),
        ("SORT src BY nosort STORE own", true),
        ("SORT src STORE victim", false),
        ("SORT src STORE victim BY store ASC", false),
        ("SORT src STORE victim GET store ASC", false),
        ("SORT src BY store STORE victim", false),
        ("SORT src LIMIT 0 1 BY store ASC STORE victim", false),
        ("SORT src STORE own STORE victim", false),
        ("SORT src STORE victim STORE own", true),
        ("SORT src STORE own BY store ASC", true),
    ] {
        let reply = run(&mut engine, guest, line);
        assert_eq!(!reply.starts_with("-NOPERM"), allowed, "{line}: {reply}");
    }
    assert_eq!(run(&mut engine, admin, "EXISTS victim"), ":0\r\n");
    assert_eq!(
        run(&mut engine, admin, "COMMAND GETKEYS SORT src STORE dst BY store ASC"),
        "*2\r\n$3\r\nsrc\r\n$3\r\ndst\r\n"
    );
}

/// Conditions that change between MULTI and EXEC are checked again for the queued commands.
#[test]
fn exec_checks_queued_commands_again() {
    const CHANGED: &str =
        "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ";
    for (rule, reason) in [
        (
            "-set",
            "This command is no longer allowed for the following reason: no permission to execute the command or subcommand",
        ),
        (
            "resetkeys",
            "This command is no longer allowed for the following reason: no permission to touch the specified keys",
        ),
    ] {
        let mut engine = Engine::new(Config::default(), 1);
        let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
        run(&mut engine, admin, "ACL SETUSER ann on nopass ~* &* +@all");
        for (line, expected) in
            [("AUTH ann x", "+OK"), ("MULTI", "+OK"), ("SET k v", "+QUEUED"), ("PING", "+QUEUED")]
        {
            check(&mut engine, guest, line, expected);
        }
        run(&mut engine, admin, &format!("ACL SETUSER ann {rule}"));
        let reply = run(&mut engine, guest, "EXEC");
        assert_eq!(reply, format!("*2\r\n{CHANGED}{reason}\r\n+PONG\r\n"));
        assert_eq!(run(&mut engine, admin, "EXISTS k"), ":0\r\n");
    }
    type Change = fn(&mut Engine);
    for (what, change, error) in [
        ("the disk is full", (|e| e.refuse_writes(Some("MISCONF full".into()))) as Change, "MISCONF full"),
        (
            "the server has become a replica",
            |e| e.follow(Some(([127, 0, 0, 1], 1).into())),
            "READONLY You can't write against a read only replica.",
        ),
        ("a copy is loaded", |e| e.begin_copy(START), "LOADING Redis is loading the dataset in memory"),
    ] {
        let mut engine = Engine::new(Config::default(), 1);
        let session = engine.open(START, "a");
        run(&mut engine, session, "MULTI");
        run(&mut engine, session, "SET k v");
        change(&mut engine);
        let reply = run(&mut engine, session, "EXEC");
        assert_eq!(reply, format!("-EXECABORT Transaction discarded because of: {error}\r\n"), "{what}");
        engine.end_copy(true);
        assert_eq!(run(&mut engine, session, "EXISTS k"), ":0\r\n", "{what}");
        for (line, expected) in [("MULTI", "+OK"), ("GET k", "+QUEUED"), ("EXEC", "*1\r\n$-1")] {
            check(&mut engine, session, line, expected);
        }
    }
}

/// Passwords can be parameters, hashes of users, and arguments of commands that are queued, held back or logged.
#[test]
fn debug_output_contains_no_password() {
    let config = Config::default().with("requirepass", "first secret").unwrap();
    let config = config.with("masterauth", "second secret").unwrap();
    let config = config.with("slowlog-log-slower-than", "0").unwrap();
    let mut engine = Engine::new(config, 1);
    let [queueing, held] = ["a", "b"].map(|peer| {
        let session = engine.open(START, peer);
        let mut out = Vec::new();
        engine.execute(START, session, &[b"AUTH", b"first secret"], &mut out);
        assert_eq!(out, b"+OK\r\n");
        session
    });
    check(&mut engine, queueing, "ACL SETUSER ann on >third-secret ~* +@all", "+OK");
    let hash = run(&mut engine, queueing, "ACL GETUSER ann");
    let hash = hash.lines().find(|line| line.len() == 64).unwrap();
    check(&mut engine, queueing, "MULTI", "+OK");
    check(&mut engine, queueing, "ACL SETUSER bob >fourth-secret", "+QUEUED");
    check(&mut engine, held, "CLIENT PAUSE 1000 ALL", "+OK");
    run(&mut engine, held, "AUTH ann fifth-secret");
    let text = format!("{engine:?}");
    assert!(["secret", hash].iter().all(|secret| !text.contains(secret)), "{text}");
    // Bytes are printed as numbers.
    let numbers = format!("{:?}", b"-secret");
    assert!(!text.contains(numbers.trim_matches(['[', ']'])), "{text}");
}
