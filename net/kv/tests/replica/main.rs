//! A server as a replica of Redis and as a primary.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../snapshots/client.rs"]
mod client;
mod primary;
mod sentinel;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use client::{Client, Redis, assert_same};
use netdyno_kv::core::Config;
use netdyno_kv::{AofSettings, Server};

fn start(config: Config) -> (Server, Client) {
    let server = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).config(config).start().unwrap();
    let client = Client::connect(server.addresses()[0]);
    (server, client)
}

fn follow(replica: &mut Client, primary: SocketAddr) {
    assert_eq!(replica.line(&format!("REPLICAOF {} {}", primary.ip(), primary.port())), "OK");
}

/// The value of one line of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&[b"INFO", section.as_bytes()]).remove(0);
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().to_owned()
}

/// Waits for a condition.
fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "timeout after one minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the replica has acknowledged all changes of the primary.
fn caught_up(primary: &mut Client) {
    until(|| primary.line("WAIT 1 1000") == "1", "the replica acknowledges");
}

/// Changes of all kinds, in several databases, in transactions, with deadlines.
fn change(primary: &mut Client, round: u32) {
    for at in 0..200 {
        for line in [
            format!("SELECT {}", at % 3),
            format!("SET s{} {round}", at % 50),
            format!("SET t{at} {round} EX 1000"),
            format!("APPEND s{} more", at % 7),
            format!("INCRBYFLOAT f{} 0.1", at % 5),
            format!("RPUSH l{} {at} {round}", at % 11),
            format!("LPOP l{}", at % 4),
            format!("SADD set{} {at} m{at}", at % 9),
            format!("SPOP set{}", at % 9),
            format!("HINCRBY h{} f{at} {round}", at % 3),
            format!("ZADD z{} {at}.5 m{at}", at % 6),
            format!("ZPOPMAX z{}", at % 6),
            format!("COPY l{} copy{at}", at % 11),
            "MULTI".into(),
            format!("EXPIRE s{} 5000", at % 50),
            format!("SUNIONSTORE union set{} set3", at % 9),
            "EXEC".into(),
            format!("DEL copy{} t{}", at / 2, at / 3),
        ] {
            primary.line(&line);
        }
    }
}

#[test]
fn a_replica_of_redis_has_the_same_keys() {
    // Delimited by an end mark, and by the length.
    for diskless in ["yes", "no"] {
        let directory = tempfile::tempdir().unwrap();
        let options =
            ["--repl-diskless-sync", diskless, "--repl-diskless-sync-delay", "0", "--requirepass", "secret"];
        let Some(redis) = Redis::start(directory.path(), &options) else { return };
        let mut primary = Client::connect(redis.address);
        primary.line("AUTH secret");
        change(&mut primary, 1);
        let (_server, mut replica) = start(Config::default().with("masterauth", "secret").unwrap());
        replica.line("SET ours gone");
        follow(&mut replica, redis.address);
        until(|| info(&mut replica, "replication", "master_link_status") == "up", "the link is up");
        caught_up(&mut primary);
        assert_same(&replica.everything(), &primary.everything());
        change(&mut primary, 2);
        caught_up(&mut primary);
        assert_same(&replica.everything(), &primary.everything());
        assert_eq!(info(&mut primary, "replication", "connected_slaves"), "1");
        let role = replica.ask(&[b"ROLE"]);
        assert_eq!((&role[0][..], &role[3][..]), (&b"slave"[..], &b"connected"[..]));
        // The link breaks and resumes.
        for round in 3..6 {
            assert_eq!(primary.line("CLIENT KILL TYPE replica"), "1");
            change(&mut primary, round);
            until(|| info(&mut primary, "replication", "connected_slaves") == "1", "it is back");
            caught_up(&mut primary);
            assert_same(&replica.everything(), &primary.everything());
        }
        assert_eq!(info(&mut primary, "stats", "sync_partial_ok"), "3");
        assert_eq!(info(&mut primary, "stats", "sync_full"), "1");
        let offset = info(&mut replica, "replication", "slave_repl_offset");
        assert!(offset.parse::<u64>().unwrap() > 10_000, "{offset}");
    }
}

#[test]
fn clients_of_a_replica_read_until_it_is_promoted() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &["--repl-diskless-sync-delay", "0"]) else { return };
    let mut primary = Client::connect(redis.address);
    primary.line("DEBUG SET-ACTIVE-EXPIRE 0");
    primary.line("SET a 1");
    primary.line("SET short 1 PX 300");
    let (server, mut replica) = start(Config::default());
    let mut listener = Client::connect(server.addresses()[0]);
    listener.ask(&[b"SUBSCRIBE", b"news"]);
    follow(&mut replica, redis.address);
    until(|| replica.line("GET a") == "1", "the copy");
    assert_eq!(replica.line("SET a 2"), "-READONLY You can't write against a read only replica.");
    assert_eq!(replica.line("MULTI"), "OK");
    assert!(replica.line("DEL a").starts_with("-READONLY"));
    assert!(replica.line("EXEC").starts_with("-EXECABORT"));
    assert!(replica.line("WAIT 1 1").starts_with("-ERR WAIT cannot be used with replica"));
    primary.line("PUBLISH news hello");
    assert_eq!(listener.answer(), [&b"message"[..], b"news", b"hello"]);
    // Expired, and hidden until the primary removes it.
    until(|| replica.line("GET short") == "(null)", "its time is over");
    assert_eq!((replica.line("EXISTS short"), replica.line("DBSIZE")), ("0".into(), "2".into()));
    assert_eq!(primary.line("GET short"), "(null)");
    until(|| replica.line("DBSIZE") == "1", "the primary says so");
    // The key is expired here too, so a new deadline set there does not restore it.
    assert_eq!(replica.line("REPLICAOF NO ONE"), "OK");
    assert_eq!(replica.line("SET a 2"), "OK");
    assert_eq!(replica.ask(&[b"ROLE"])[0], b"master");
    until(|| info(&mut primary, "replication", "connected_slaves") == "0", "it is gone");
    primary.line("SET a 3");
    follow(&mut replica, redis.address);
    until(|| replica.line("GET a") == "3", "another copy");
}

#[test]
fn unsupported_data_ends_the_link_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &["--repl-diskless-sync-delay", "0"]) else { return };
    let mut primary = Client::connect(redis.address);
    primary.line("SET a 1");
    let (_server, mut replica) = start(Config::default());
    assert_eq!(
        replica.line("REPLICAOF nowhere.example 1"),
        "-ERR the primary must be an IP address: host names are not resolved"
    );
    assert_eq!(replica.line("REPLICAOF 127.0.0.1 x"), "-ERR value is not an integer or out of range");
    // No server listens on this port.
    assert_eq!(replica.line("REPLICAOF 127.0.0.1 1"), "OK");
    until(|| !info(&mut replica, "replication", "master_link_trouble").is_empty(), "it is told");
    follow(&mut replica, redis.address);
    until(|| replica.line("GET a") == "1", "the copy");
    primary.line("XADD events 1-1 a b");
    until(|| info(&mut replica, "replication", "master_link_trouble").contains("XADD"), "the stream is told");
    assert_eq!(info(&mut replica, "replication", "master_link_status"), "down");
    assert_eq!(replica.line("GET a"), "1");
    // Starts over; now the stream is in the copy.
    assert_eq!(replica.line("REPLICAOF NO ONE"), "OK");
    follow(&mut replica, redis.address);
    until(
        || info(&mut replica, "replication", "master_link_trouble").contains("'events': a stream"),
        "the copy is told",
    );
    assert_eq!(replica.line("DBSIZE"), "0");
    primary.line("DEL events");
    assert_eq!(replica.line("REPLICAOF NO ONE"), "OK");
    follow(&mut replica, redis.address);
    until(|| replica.line("GET a") == "1", "it works again");
}

#[test]
fn the_copy_is_in_the_append_only_file() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &["--repl-diskless-sync-delay", "0"]) else { return };
    let mut primary = Client::connect(redis.address);
    change(&mut primary, 1);
    let own = tempfile::tempdir().unwrap();
    let builder =
        || Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).append_only(AofSettings::new(own.path()));
    let server = builder().replica_of(redis.address).threads(2).start().unwrap();
    let mut replica = Client::connect(server.addresses()[0]);
    until(|| info(&mut replica, "replication", "master_link_status") == "up", "the link is up");
    change(&mut primary, 2);
    caught_up(&mut primary);
    let everything = primary.everything();
    server.stop().unwrap();
    let server = builder().start().unwrap();
    assert_same(&Client::connect(server.addresses()[0]).everything(), &everything);
}
