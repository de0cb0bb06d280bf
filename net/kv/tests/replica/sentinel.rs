//! Redis Sentinel exchanges the roles of Redis and netdyno-kv.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::client::{Client, Redis, free_port};
use crate::{follow, until};

/// Kills the process when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program on a port that is chosen in advance.
fn ours(directory: &Path) -> (Process, SocketAddr) {
    let port = free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_netdyno-kv"));
    let command = command.args(["--port", &port.to_string(), "--dir"]).arg(directory).stderr(Stdio::null());
    (Process(command.spawn().unwrap()), (Ipv4Addr::LOCALHOST, port).into())
}

fn watch(directory: &Path, primary: SocketAddr) -> (Process, Client) {
    let (port, file) = (free_port(), directory.join("sentinel.conf"));
    let text = format!(
        "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor m 127.0.0.1 {} 1\n\
         sentinel down-after-milliseconds m 1500\nsentinel failover-timeout m 8000\n",
        directory.display(),
        primary.port()
    );
    fs::write(&file, text).unwrap();
    let mut command = Command::new("redis-server");
    let process = Process(command.arg(&file).arg("--sentinel").stdout(Stdio::null()).spawn().unwrap());
    (process, Client::connect((Ipv4Addr::LOCALHOST, port).into()))
}

/// Waits until the sentinel knows the replica, ends the primary, and waits for the failover.
fn fail_over(sentinel: &mut Client, end: impl FnOnce(), replica: SocketAddr) {
    let knows = |sentinel: &mut Client| {
        let told = sentinel.ask(&[b"SENTINEL", b"REPLICAS", b"m"]);
        let value = |name: &[u8]| told.iter().position(|word| word == name).map(|at| told[at + 1].clone());
        value(b"flags").as_deref() == Some(b"slave") && value(b"master-link-status").as_deref() == Some(b"ok")
    };
    until(|| knows(sentinel), "the sentinel knows the replica");
    end();
    let port = replica.port().to_string().into_bytes();
    let is_first = |sentinel: &mut Client| {
        sentinel.ask(&[b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", b"m"]).get(1) == Some(&port)
    };
    until(|| is_first(sentinel), "the replica has the primary's place");
}

#[test]
fn a_replica_replaces_a_failed_redis() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &["--repl-diskless-sync-delay", "0"]) else { return };
    let (_process, address) = ours(directory.path());
    let (mut theirs, mut replica) = (Client::connect(redis.address), Client::connect(address));
    theirs.line("SET a 1");
    follow(&mut replica, redis.address);
    let (_sentinel, mut sentinel) = watch(directory.path(), redis.address);
    fail_over(&mut sentinel, || drop(redis), address);
    let mut ours = Client::connect(address);
    until(|| ours.line("SET b 2") == "OK", "it takes changes");
    assert_eq!((ours.line("GET a"), ours.ask(&[b"ROLE"]).remove(0)), ("1".into(), b"master".to_vec()));
}

#[test]
fn redis_replaces_a_failed_primary() {
    let directory = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(directory.path(), &[]) else { return };
    let (process, address) = ours(directory.path());
    let (mut primary, mut theirs) = (Client::connect(address), Client::connect(redis.address));
    primary.line("SET a 1");
    follow(&mut theirs, address);
    let (_sentinel, mut sentinel) = watch(directory.path(), address);
    fail_over(&mut sentinel, || drop(process), redis.address);
    let mut theirs = Client::connect(redis.address);
    until(|| theirs.line("SET b 2") == "OK", "it takes changes");
    assert_eq!(theirs.line("GET a"), "1");
}
