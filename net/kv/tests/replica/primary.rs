//! A server with replicas, both Redis and netdyno-kv.

use std::net::Ipv4Addr;

use netdyno_kv::core::Config;
use netdyno_kv::{AofSettings, Server};

use crate::client::{Client, Redis, assert_same};
use crate::{caught_up, change, follow, info, until};

fn up(replica: &mut Client) {
    until(|| info(replica, "replication", "master_link_status") == "up", "the link is up");
}

#[test]
fn redis_as_a_replica_has_the_same_keys() {
    let own = tempfile::tempdir().unwrap();
    for (threads, kept) in [(1, false), (3, true)] {
        let mut builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).threads(threads);
        if kept {
            builder = builder.append_only(AofSettings::new(own.path()));
        }
        let server = builder.start().unwrap();
        let mut primary = Client::connect(server.addresses()[0]);
        change(&mut primary, 1);
        primary.ask(&[b"SET", b"large", &b"0123456789".repeat(300_000)]);
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let Some(redis) = Redis::start(directory.path(), &["--logfile", log.to_str().unwrap()]) else {
            return;
        };
        let mut replica = Client::connect(redis.address);
        follow(&mut replica, server.addresses()[0]);
        // During the copy.
        change(&mut primary, 2);
        up(&mut replica);
        caught_up(&mut primary);
        assert_same(&replica.everything(), &primary.everything());
        assert!(info(&mut primary, "replication", "slave0").contains("state=online"));
        // The link breaks and resumes.
        for round in 3..6 {
            assert_eq!(replica.line("CLIENT KILL TYPE master"), "1");
            change(&mut primary, round);
            caught_up(&mut primary);
            assert_same(&replica.everything(), &primary.everything());
        }
        let text = std::fs::read_to_string(&log).unwrap();
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("Full resync from master"), 1, "{text}");
        assert_eq!(count("Successful partial resynchronization with master"), 3, "{text}");
        // The primary removes expired keys.
        primary.line("SET short 1 PX 50");
        until(
            || replica.line("DBSIZE") == primary.line("DBSIZE") && replica.line("EXISTS short") == "0",
            "it is over",
        );
        caught_up(&mut primary);
        replica.line("REPLICAOF NO ONE");
        until(|| info(&mut primary, "replication", "connected_slaves") == "0", "it is gone");
    }
}

#[test]
fn several_replicas_at_once() {
    let server = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).threads(2).start().unwrap();
    let mut primary = Client::connect(server.addresses()[0]);
    change(&mut primary, 1);
    let replicas: Vec<Server> = (0..4)
        .map(|_| {
            let builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0));
            builder.replica_of(server.addresses()[0]).start().unwrap()
        })
        .collect();
    change(&mut primary, 2);
    until(|| primary.line("WAIT 4 1000") == "4", "all have it");
    let everything = primary.everything();
    for replica in &replicas {
        assert_same(&Client::connect(replica.addresses()[0]).everything(), &everything);
    }
    assert_eq!(primary.ask(&[b"ROLE"]).len(), 2 + 4 * 3);
    // No replica has the change within the time.
    assert_eq!(primary.line("WAIT 5 50"), "4");
    // A replica does not accept replicas until it is promoted.
    let mut first = Client::connect(replicas[0].addresses()[0]);
    first.line("REPLCONF capa eof");
    assert!(first.line("PSYNC ? -1").starts_with("-NOMASTERLINK"));
    let mut second = Client::connect(replicas[1].addresses()[0]);
    assert_eq!(first.line("REPLICAOF NO ONE"), "OK");
    assert_eq!(first.line("SET from first"), "OK");
    follow(&mut second, replicas[0].addresses()[0]);
    until(|| second.line("GET from") == "first", "it follows the other");
    drop(server);
    assert_eq!(first.line("SET from again"), "OK");
    until(|| second.line("GET from") == "again", "without the first primary");
    // A server that becomes a replica disconnects its own replicas.
    let mut third = Client::connect(replicas[2].addresses()[0]);
    assert_eq!(third.line("REPLICAOF NO ONE"), "OK");
    assert_eq!(third.line("SET from third"), "OK");
    follow(&mut first, replicas[2].addresses()[0]);
    until(|| first.line("GET from") == "third", "it follows the third");
    until(|| info(&mut second, "replication", "master_link_status") == "down", "it is cut off");
}

#[test]
fn a_stalled_replica_is_disconnected() {
    let config = Config::default().with("repl-timeout", "1").unwrap();
    let server = Server::builder().bind((Ipv4Addr::LOCALHOST, 0)).config(config).start().unwrap();
    let mut primary = Client::connect(server.addresses()[0]);
    for at in 0..4000u32 {
        // Data that compresses badly, and more of it than socket buffers hold.
        let noise: Vec<u8> =
            (0..4000u32).map(|n| ((n ^ at).wrapping_mul(2_654_435_761) >> 23) as u8).collect();
        primary.ask(&[b"SET", format!("key:{at}").as_bytes(), &noise]);
    }
    let mut deaf = Client::connect(server.addresses()[0]);
    assert_eq!(deaf.line("REPLCONF capa eof"), "OK");
    deaf.send(&[b"PSYNC", b"?", b"-1"]);
    until(|| info(&mut primary, "replication", "connected_slaves") == "1", "it is there");
    until(|| info(&mut primary, "replication", "connected_slaves") == "0", "it is cut off");
    let builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0));
    let replica = builder.replica_of(server.addresses()[0]).start().unwrap();
    let mut other = Client::connect(replica.addresses()[0]);
    up(&mut other);
    caught_up(&mut primary);
    assert_eq!(other.line("DBSIZE"), "4000");
}
