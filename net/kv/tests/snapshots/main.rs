//! The guarantees of snapshots, tested from outside; Redis and netdyno-kv read each other's files.

#![allow(clippy::unwrap_used, missing_docs)]

mod client;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use client::{Client, Redis, assert_same};
use netdyno_kv::core::Config;
use netdyno_kv::{AofSettings, Server, SnapshotSettings, StartError};

fn start_with(directory: &Path, config: Config) -> Server {
    let builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).config(config);
    builder.snapshots(SnapshotSettings::new(directory)).start().unwrap()
}

fn start(directory: &Path) -> Server {
    start_with(directory, Config::default())
}

fn client(server: &Server) -> Client {
    Client::connect(server.addresses()[0])
}

/// Keys of every type, small and large, with and without deadlines.
fn fill(client: &mut Client, from: u32) {
    for db in 0..3 {
        client.line(&format!("SELECT {db}"));
        for (at, value) in
            ["", "a", "0", "-129", "32768", "2147483648", "12345678901234567890", "007"].iter().enumerate()
        {
            client.ask(&[b"SET", format!("{from}:string{at}").as_bytes(), value.as_bytes()]);
        }
        client.ask(&[b"SET", format!("{from}:long").as_bytes(), &b"again and ".repeat(9000)]);
        let noise: Vec<u8> = (0..70_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        client.ask(&[b"SET", format!("{from}:noise").as_bytes(), &noise, b"PX", b"100000000"]);
        for (name, count) in [("few", 5u32), ("many", 1000)] {
            for at in 0..count {
                let number = (i64::from(at) - 7) * 1_000_003 * i64::from(at % 4);
                let long = "element ".repeat(at as usize % 23);
                for line in [
                    format!("RPUSH {from}:list:{name} {number} e{at}"),
                    format!("SADD {from}:ints:{name} {number}"),
                    format!("SADD {from}:small:{name} {at}"),
                    format!("SADD {from}:set:{name} m{at} {number}"),
                    format!("HSET {from}:hash:{name} f{at} {number} {at} v{at}"),
                    format!(
                        "ZADD {from}:zset:{name} {number} m{at} {at}.125 {at} -inf low inf high 1e300 {at}x"
                    ),
                ] {
                    client.line(&line);
                }
                client.ask(&[b"RPUSH", format!("{from}:list:{name}").as_bytes(), long.as_bytes()]);
                client.ask(&[b"HSET", format!("{from}:hash:{name}").as_bytes(), long.as_bytes(), b"v"]);
            }
        }
        client.line(&format!("PEXPIREAT {from}:zset:few 99999999999999"));
        client.line(&format!("EXPIRE {from}:hash:many 100000"));
    }
    client.line("SELECT 0");
}

/// Moves all keys by DUMP and RESTORE and compares the contents.
fn move_keys(from: &mut Client, to: &mut Client) {
    for db in 0..4 {
        from.line(&format!("SELECT {db}"));
        to.line(&format!("SELECT {db}"));
        for key in from.ask(&[b"KEYS", b"*"]) {
            let payload = from.ask(&[b"DUMP", &key]).remove(0);
            let deadline = from.line(&format!("PEXPIRETIME {}", String::from_utf8_lossy(&key)));
            let deadline = if deadline == "-1" { "0" } else { &deadline };
            let restored = to.ask(&[b"RESTORE", &key, deadline.as_bytes(), &payload, b"REPLACE", b"ABSTTL"]);
            assert_eq!(restored, [b"OK"], "{}", String::from_utf8_lossy(&key));
        }
    }
}

#[test]
fn redis_reads_our_snapshots() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path());
    let mut ours = client(&server);
    fill(&mut ours, 0);
    assert_eq!(ours.line("SAVE"), "OK");
    let everything = ours.everything();
    assert_eq!(everything.len(), 66);
    let Some(redis) = Redis::start(directory.path(), &[]) else { return };
    let mut theirs = Client::connect(redis.address);
    assert_same(&theirs.everything(), &everything);
    theirs.line("FLUSHALL");
    move_keys(&mut ours, &mut theirs);
    assert_same(&theirs.everything(), &everything);
}

#[test]
fn snapshots_of_redis_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &["--maxmemory-policy", "allkeys-lru"]) else { return };
    let mut theirs = Client::connect(redis.address);
    for (round, lines) in [
        &[][..],
        &[
            "CONFIG SET hash-max-listpack-entries 0 set-max-intset-entries 0 zset-max-listpack-entries 0",
            "CONFIG SET list-max-listpack-size 3 list-compress-depth 1 rdbcompression no",
        ],
        &[
            "CONFIG SET hash-max-listpack-entries 9999 set-max-intset-entries 9999 zset-max-listpack-entries 9999",
            "CONFIG SET hash-max-listpack-value 9999 zset-max-listpack-value 9999 list-max-listpack-size -5",
            "DEBUG QUICKLIST-PACKED-THRESHOLD 100B",
            "CONFIG SET maxmemory-policy allkeys-lfu rdbcompression yes",
        ],
    ]
    .into_iter()
    .enumerate()
    {
        lines.iter().for_each(|line| assert_eq!(theirs.line(line), "OK", "{line}"));
        fill(&mut theirs, round as u32);
    }
    // Functions are skipped.
    let library: &[u8] = b"#!lua name=one\nredis.register_function('f', function() return 1 end)";
    assert_eq!(theirs.ask(&[b"FUNCTION", b"LOAD", library]), [b"one"]);
    assert_eq!(theirs.line("SAVE"), "OK");
    let everything = theirs.everything();
    assert_eq!(everything.len(), 3 * 66);
    let server = start(directory.path());
    let mut ours = client(&server);
    assert_same(&ours.everything(), &everything);
    assert_eq!(server.loaded().unwrap().keys, 3 * 66);
    ours.line("FLUSHALL");
    move_keys(&mut theirs, &mut ours);
    assert_same(&ours.everything(), &everything);
    // The error names the stream, and the file is not modified.
    theirs.line("XADD of:events 1-1 a b");
    assert_eq!(theirs.line("SAVE"), "OK");
    let error = Server::builder()
        .bind((Ipv4Addr::LOCALHOST, 0))
        .snapshots(SnapshotSettings::new(directory.path()))
        .start();
    let error = error.err().unwrap().to_string();
    assert!(error.contains("key 'of:events': a stream (type 19) is not supported"), "{error}");
}

#[test]
fn a_restart_loads_the_last_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let points = || Config::default().with("save", "3600 1").unwrap();
    let server = start_with(directory.path(), points());
    client(&server).line("SET a 1");
    server.stop().unwrap();
    // Saved on shutdown if there are save points, otherwise not.
    let server = start(directory.path());
    let mut peer = client(&server);
    assert_eq!(peer.line("GET a"), "1");
    peer.line("SET a 2");
    drop(server);
    let server = start(directory.path());
    assert_eq!(client(&server).line("GET a"), "1");
    drop(server);
    // The append-only file takes precedence.
    let builder =
        Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).append_only(AofSettings::new(directory.path()));
    let server = builder.snapshots(SnapshotSettings::new(directory.path())).start().unwrap();
    assert_eq!((client(&server).line("GET a"), server.loaded()), ("(null)".into(), None));
    drop(server);
    let file = directory.path().join("dump.rdb");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 9);
    fs::write(&file, &bytes).unwrap();
    let builder =
        Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).snapshots(SnapshotSettings::new(directory.path()));
    let error = builder.start().err().unwrap();
    assert!(
        matches!(error, StartError::Snapshot(_)) && error.to_string().contains("ends unexpectedly"),
        "{error}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_failed_snapshot_is_reported_and_keeps_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let config = Config::default().with("save", "3600 1").unwrap();
    let server = start_with(&inner, config);
    let mut peer = client(&server);
    peer.line("SET a 1");
    assert_eq!(peer.line("SAVE"), "OK");
    let away = directory.path().join("away");
    fs::rename(&inner, &away).unwrap();
    let old = fs::read(away.join("dump.rdb")).unwrap();
    let error = peer.line("SAVE");
    assert!(error.starts_with("-ERR cannot write the snapshot: No such file or directory"), "{error}");
    let refused = peer.line("SET a 2");
    assert!(
        refused.starts_with("-MISCONF Redis is configured to save RDB") && refused.contains("No such file"),
        "{refused}"
    );
    assert_eq!(peer.line("SHUTDOWN"), "-ERR Errors trying to SHUTDOWN. Check logs.");
    assert_eq!(peer.line("GET a"), "1");
    assert_eq!(fs::read(away.join("dump.rdb")).unwrap(), old);
    fs::rename(&away, &inner).unwrap();
    assert_eq!(peer.line("SAVE"), "OK");
    assert_eq!(peer.line("SET a 2"), "OK");
    let names: Vec<_> = fs::read_dir(&inner).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["dump.rdb"]);
}

#[test]
fn commands_continue_and_are_not_in_the_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    for threads in [1, 3] {
        let builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).threads(threads);
        let server = builder.snapshots(SnapshotSettings::new(directory.path())).start().unwrap();
        let (mut writer, mut saver) = (client(&server), client(&server));
        writer.line("FLUSHALL");
        for at in 0..3000 {
            writer.ask(&[b"SET", format!("filler:{at}").as_bytes(), &[b'x'; 3000]]);
        }
        for round in 0..5 {
            assert_eq!(saver.line("BGSAVE"), "Background saving started");
            let mut meanwhile = 0;
            while saver.ask(&[b"INFO", b"persistence"])[0]
                .windows(25)
                .any(|text| text == b"rdb_bgsave_in_progress:1\r")
            {
                meanwhile += 1;
                for line in ["MULTI", "INCR a", "RPUSH b x", "DEL filler:7", "SET filler:7 y", "EXEC"] {
                    writer.line(line);
                }
            }
            let copy = tempfile::tempdir().unwrap();
            fs::copy(directory.path().join("dump.rdb"), copy.path().join("dump.rdb")).unwrap();
            let other = start(copy.path());
            let mut reader = client(&other);
            let (a, b) = (reader.line("GET a"), reader.line("LLEN b"));
            assert!(
                a == b || a == "(null)" && b == "0",
                "{a} and {b} in round {round}, {meanwhile} meanwhile"
            );
            assert_eq!(reader.line("DBSIZE"), if a == "(null)" { "3000" } else { "3002" });
        }
    }
}

/// Starts the program, which prints its port.
fn program(directory: &Path, options: &[&str]) -> (Child, SocketAddr) {
    use std::io::BufRead;
    let mut child = Command::new(env!("CARGO_BIN_EXE_netdyno-kv"))
        .args(["--port", "0", "--dir"])
        .arg(directory)
        .args(options)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let line =
        lines.find_map(|line| line.unwrap().split_once("listening on ").map(|(_, rest)| rest.to_owned()));
    let address = line.unwrap().split(';').next().unwrap().parse().unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    (child, address)
}

#[test]
fn shutdown_saves_on_demand() {
    let directory = tempfile::tempdir().unwrap();
    for (options, shutdown, expected) in [
        (&[][..], "SHUTDOWN SAVE", "0"),
        (&[], "SHUTDOWN", "0"),
        (&["--save", "3600", "1"], "SHUTDOWN NOSAVE", "0"),
        (&["--save", "3600 1", "--save", "60 100"], "SHUTDOWN", "3"),
        (&[], "SHUTDOWN SAVE", "4"),
    ]
    .into_iter()
    .enumerate()
    .map(|(at, (options, shutdown, expected))| (options, (at, shutdown), expected))
    {
        let (mut child, address) = program(directory.path(), options);
        let mut peer = Client::connect(address);
        peer.line(&format!("SET a {}", shutdown.0));
        peer.send(&shutdown.1.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        assert!(child.wait().unwrap().success());
        let server = start(directory.path());
        assert_eq!(client(&server).line("GET a"), expected, "{shutdown:?}");
    }
}

#[test]
fn a_kill_leaves_a_complete_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..10u64 {
        let (mut child, address) = program(directory.path(), &[]);
        let mut peer = Client::connect(address);
        let before = peer.line("GET round");
        assert!(
            round == 0
                || before == (round - 1).to_string()
                || before == "(null)"
                || before.parse::<u64>().unwrap() < round
        );
        peer.line(&format!("SET round {round}"));
        for at in 0..500 {
            peer.ask(&[b"SET", format!("filler:{at}").as_bytes(), &[b'x'; 5000]]);
        }
        if round == 0 {
            assert_eq!(peer.line("SAVE"), "OK");
        }
        peer.line("BGSAVE");
        std::thread::sleep(std::time::Duration::from_millis(round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let server = start(directory.path());
    assert_eq!(client(&server).line("DBSIZE"), "501");
}
