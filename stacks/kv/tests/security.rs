//! Restrictions on what an untrusted or less privileged client can do.
#![allow(missing_docs)]

use netdyno_kv_core::{Config, Engine, Outcome, Output, SessionId, Timestamp};

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

/// A match that takes too many steps counts as a mismatch. Without a bound, longer ones take hours.
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
    // The pattern matches, but finding that takes 0.8 billion steps.
    let long = "a".repeat(200_000) + "b";
    assert_eq!(run(&mut engine, session, &format!("SET {long} 1")), "+OK\r\n");
    check(&mut engine, session, &format!("KEYS {pattern}"), "*0");
    check(&mut engine, session, "KEYS a*b", "*1");
    check(&mut engine, session, "KEYS *b", "*1");
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

/// The pushed messages of a session, without replies to its own commands, and whether it is closed.
fn output(engine: &mut Engine, session: SessionId) -> (String, bool) {
    let (mut text, mut is_closed) = (String::new(), false);
    while let Some((id, output)) = engine.poll_output() {
        let (bytes, ends) = match output {
            Output::Bytes(bytes) | Output::Resume(bytes) => (bytes, false),
            Output::Close(bytes) => (bytes, true),
            Output::Abort => (Vec::new(), true),
        };
        if id == session {
            text += &String::from_utf8_lossy(&bytes);
            is_closed |= ends;
        }
    }
    (text, is_closed)
}

/// As in Redis, a command that waits for a key is checked again when the key has a value.
#[test]
fn a_blocked_command_is_checked_again_when_it_resumes() {
    const COMMAND: &str = "-NOPERM this user has no permissions to run the";
    const KEY: &str = "-NOPERM this user has no permissions to access one of the keys";
    for (line, push, rule, expected, left) in [
        ("BLPOP q 0", "RPUSH q v", "+@all", "*2\r\n$1\r\nq\r\n$1\r\nv", ":0"),
        ("BLPOP q 0", "RPUSH q v", "-blpop", COMMAND, ":1"),
        ("BLPOP q 0", "RPUSH q v", "resetkeys", KEY, ":1"),
        ("BLMOVE q to LEFT LEFT 0", "RPUSH q v", "resetkeys ~q", KEY, ":1"),
        ("BZPOPMIN q 0", "ZADD q 1 v", "resetkeys ~other", KEY, ":1"),
    ] {
        let mut engine = Engine::new(Config::default(), 1);
        let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
        run(&mut engine, admin, "ACL SETUSER ann on nopass ~* resetchannels +@all");
        run(&mut engine, guest, "AUTH ann x");
        assert_eq!(run(&mut engine, guest, line), "", "it waits");
        check(&mut engine, admin, &format!("ACL SETUSER ann {rule}"), "+OK");
        run(&mut engine, admin, push);
        let (reply, is_closed) = output(&mut engine, guest);
        assert!(reply.starts_with(expected) && !is_closed, "{line}, {rule}: {reply}");
        check(&mut engine, admin, "EXISTS q", left);
    }
}

/// A replica changes its keys only as its primary does: what a client waits for must not be removed there.
#[test]
fn blocked_clients_are_disconnected_when_the_server_becomes_a_replica() {
    let role =
        "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n";
    for line in ["BLPOP q 0", "BLMOVE q to LEFT LEFT 9", "BZPOPMIN q 0", "WAIT 1 0"] {
        let mut engine = Engine::new(Config::default(), 1);
        let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
        assert_eq!(run(&mut engine, guest, line), "", "it waits");
        check(&mut engine, admin, "REPLICAOF 127.0.0.1 1", "+OK");
        let primary = engine.open_primary(START);
        engine.apply(START, primary, &[b"RPUSH", b"q", b"v"], &mut Vec::new());
        assert_eq!(output(&mut engine, guest), (role.to_owned(), true), "{line}");
        check(&mut engine, admin, "LRANGE q 0 -1", "*1\r\n$1\r\nv");
    }
    // A paused write is refused when the pause ends.
    let mut engine = Engine::new(Config::default(), 1);
    let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
    run(&mut engine, admin, "CLIENT PAUSE 100 WRITE");
    assert_eq!(run(&mut engine, guest, "SET k v"), "", "it waits");
    run(&mut engine, admin, "REPLICAOF 127.0.0.1 1");
    engine.tick(Timestamp { unix_ms: START.unix_ms + 100, ..START });
    let (reply, is_closed) = output(&mut engine, guest);
    assert!(reply.starts_with("-READONLY") && !is_closed, "{reply}");
}

/// The host closes a connection some time after the engine has ended its session.
#[test]
fn a_session_that_ends_takes_no_value() {
    for end in ["CLIENT KILL b", "ACL DELUSER ann"] {
        let mut engine = Engine::new(Config::default(), 1);
        let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
        run(&mut engine, admin, "ACL SETUSER ann on nopass ~* +@all");
        run(&mut engine, guest, "AUTH ann x");
        assert_eq!(run(&mut engine, guest, "BLPOP q 0"), "", "it waits");
        run(&mut engine, admin, end);
        check(&mut engine, admin, "RPUSH q v", ":1");
        check(&mut engine, admin, "LLEN q", ":1");
        assert!(output(&mut engine, guest).1, "{end}");
    }
}

/// As in Redis, losing the permission for a channel closes the connections that are subscribed to it.
#[test]
fn a_subscription_ends_with_its_permission() {
    for (subscribe, rules, is_kept) in [
        ("SUBSCRIBE news", "&news", true),
        ("SUBSCRIBE news", "&n*", true),
        ("SUBSCRIBE news", "", false),
        ("SUBSCRIBE news other", "&other", false),
        ("SSUBSCRIBE news", "&other", false),
        ("PSUBSCRIBE n*", "&n*", true),
        ("PSUBSCRIBE n*", "&news", false),
        ("PING", "", true),
    ] {
        let mut engine = Engine::new(Config::default(), 1);
        let (admin, guest) = (engine.open(START, "a"), engine.open(START, "b"));
        run(&mut engine, admin, "ACL SETUSER ann on nopass ~* &* +@all");
        run(&mut engine, guest, "AUTH ann x");
        run(&mut engine, guest, subscribe);
        let line = format!("ACL SETUSER ann resetchannels {rules}");
        check(&mut engine, admin, line.trim_end(), "+OK");
        assert_eq!(output(&mut engine, guest).1, !is_kept, "{subscribe}, {rules}");
    }
    // Its own connection closes after the reply.
    let mut engine = Engine::new(Config::default(), 1);
    let session = engine.open(START, "a");
    run(&mut engine, session, "HELLO 3");
    run(&mut engine, session, "SUBSCRIBE news");
    let (words, mut out) = ([&b"ACL"[..], b"SETUSER", b"default", b"resetchannels"], Vec::new());
    assert_eq!(engine.execute(START, session, &words, &mut out), Outcome::Close);
    assert_eq!(out, b"+OK\r\n");
}
