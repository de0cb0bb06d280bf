//! Append-only files exchanged with Redis, in both directions.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "snapshots/client.rs"]
mod client;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use client::{Client, Redis, assert_same};
use netdyno_kv::{AofSettings, Server};

/// Keys of every type, in several databases, changed by many kinds of commands.
fn fill(client: &mut Client) {
    for at in 0..300u32 {
        for line in [
            format!("SELECT {}", at % 3),
            format!("SET s{} {at}", at % 50),
            format!("SET t{at} {at} EX 1000"),
            format!("SETRANGE s{} 5 more", at % 7),
            format!("INCRBYFLOAT f{} 0.1", at % 5),
            format!("RPUSH l{} {at} x", at % 11),
            format!("LMOVE l{} l{} LEFT RIGHT", at % 4, at % 11),
            format!("SADD set{} {at} m{at}", at % 9),
            format!("SPOP set{}", at % 9),
            format!("HINCRBY h{} f{at} 7", at % 3),
            format!("ZADD z{} {at}.5 m{at}", at % 6),
            "MULTI".into(),
            format!("EXPIRE s{} 5000", at % 50),
            format!("SUNIONSTORE union set{} set3", at % 9),
            format!("DEL t{}", at / 3),
            "EXEC".into(),
        ] {
            let reply = client.line(&line);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
        }
    }
    client.line("SELECT 0");
    client.ask(&[b"SET", &(0..=255).collect::<Vec<u8>>(), &b"0123456789".repeat(50_000)]);
}

fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "timeout after one minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(directory: &Path) -> (Server, Client) {
    let builder = Server::builder().bind((Ipv4Addr::LOCALHOST, 0));
    let server = builder.append_only(AofSettings::new(directory)).start().unwrap();
    let client = Client::connect(server.addresses()[0]);
    (server, client)
}

const OPTIONS: [&str; 6] =
    ["--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", "0"];

#[test]
fn redis_loads_our_append_only_file() {
    for rewrite in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (server, mut client) = start(directory.path());
        fill(&mut client);
        if rewrite {
            assert!(client.line("BGREWRITEAOF").starts_with("Background"));
            until(
                || {
                    let info = String::from_utf8(client.ask(&[b"INFO", b"persistence"]).remove(0)).unwrap();
                    info.contains("aof_rewrite_in_progress:0")
                },
                "the rewrite ends",
            );
            client.line("SET after rewrite");
        }
        let expected = client.everything();
        assert!(expected.len() > 200, "{}", expected.len());
        server.stop().unwrap();
        let Some(redis) = Redis::start(directory.path(), &OPTIONS) else { return };
        let mut theirs = Client::connect(redis.address);
        until(|| !theirs.line("DBSIZE").starts_with("-LOADING"), "Redis has loaded the file");
        assert_same(&theirs.everything(), &expected);
    }
}

#[test]
fn the_append_only_file_of_redis_is_loaded() {
    let theirs = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(theirs.path(), &OPTIONS) else { return };
    let mut client = Client::connect(redis.address);
    fill(&mut client);
    let expected = client.everything();
    client.send(&[b"SHUTDOWN", b"NOSAVE"]);
    // Since version 7, Redis splits the log into a base file and increments, listed in order by a manifest.
    let folder = theirs.path().join("appendonlydir");
    let manifest = folder.join("appendonly.aof.manifest");
    until(|| manifest.exists(), "the manifest exists");
    drop(redis);
    let mut log = Vec::new();
    for line in fs::read_to_string(&manifest).unwrap().lines() {
        let name = line.split(' ').nth(1).unwrap();
        log.append(&mut fs::read(folder.join(name)).unwrap());
    }
    let ours = tempfile::tempdir().unwrap();
    fs::write(ours.path().join("appendonly.aof"), log).unwrap();
    let (server, mut client) = start(ours.path());
    let replayed = server.replayed().unwrap();
    assert_eq!((replayed.refused, replayed.cut_bytes), (0, 0), "{:?}", replayed.first_refusal);
    assert_same(&client.everything(), &expected);
}
