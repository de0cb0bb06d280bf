//! The storage of the example `own_storage`: acknowledged changes survive a kill, and failures are reported.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../examples/own_storage.rs"]
mod example;
#[path = "serving/support.rs"]
mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netdyno_kv::storage::{Loader, StorageError, commands};
use netdyno_kv::{StartError, Storage};
use support::{Peer, command};

/// The directory for a server that a test has started in a separate process.
const DIRECTORY: &str = "NETDYNO_OWN_STORAGE";

/// Sends commands together and returns the first lines of their replies.
fn ask(peer: &mut Peer, lines: &[&str]) -> Vec<String> {
    let words = |line: &&str| command(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    peer.send(&lines.iter().flat_map(words).collect::<Vec<u8>>());
    lines.iter().map(|_| peer.line().trim_end().to_owned()).collect()
}

struct Program {
    child: Child,
    address: String,
}

impl Program {
    /// Starts this test program as a server.
    fn start(directory: &Path) -> Self {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "child_server", "--ignored", "--nocapture"]);
        let mut child = program.env(DIRECTORY, directory).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned())).unwrap();
        Self { child, address }
    }

    fn connect(&self) -> Peer {
        Peer::at(self.address.parse().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "others start it"]
fn child_server() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let server = example::start(directory.into(), 0).unwrap();
    println!("listening on {}", server.addresses()[0]);
    server.wait().unwrap();
}

#[test]
fn acknowledged_changes_survive_kills() {
    let directory = tempfile::tempdir().unwrap();
    let long = format!("SET {} v", "k".repeat(300));
    let program = Program::start(directory.path());
    let mut peer = program.connect();
    ask(
        &mut peer,
        &["SET a 1", "HSET h z 1 a 2", "RPUSH l x y", "SADD s 3 1", "ZADD z 2 m", "SET gone 1", "DEL gone"],
    );
    ask(&mut peer, &["SET t 1", "PEXPIREAT t 99999999999999", &long, "SELECT 3", "SET k db3", "SWAPDB 3 4"]);
    ask(&mut peer, &["SET k other", "FLUSHDB", "SET k last"]);
    drop(program);
    let mut counted = [0, 0];
    // Kills the server while it writes.
    for round in 0..6 {
        let program = Program::start(directory.path());
        let mut peer = program.connect();
        let found = ask(&mut peer, &["INCRBY n 0", "INCRBY m 0"]).concat();
        let found: Vec<u64> = found.split(':').skip(1).map(|text| text.parse().unwrap()).collect();
        assert!(
            found[0] >= counted[0] && found[0] == found[1],
            "{counted:?} were answered, {found:?} are there"
        );
        let mut hand = peer.another_hand();
        let writes = std::thread::spawn(move || {
            let unit = [b"MULTI".as_slice(), b"INCR n", b"INCR m", b"EXEC"].join(b"\r\n".as_slice());
            let unit = [unit, b"\r\n".to_vec()].concat().repeat(5);
            while std::io::Write::write_all(&mut hand, &unit).is_ok() {}
        });
        let end = Instant::now() + Duration::from_millis(60 + round * 17);
        let mut answers = Vec::new();
        while Instant::now() < end {
            answers.extend(peer.try_line());
        }
        drop(program);
        answers.extend(std::iter::from_fn(|| peer.try_line()));
        writes.join().unwrap();
        // The last complete transaction that was acknowledged.
        let numbers: Vec<u64> =
            answers.iter().filter_map(|line| line.strip_prefix(':')?.trim_end().parse().ok()).collect();
        assert!(numbers.len() > 1);
        counted = [numbers[numbers.len() / 2 * 2 - 1]; 2];
    }
    let program = Program::start(directory.path());
    let mut peer = program.connect();
    let answers = ask(&mut peer, &["EXISTS gone", "HLEN h", "LLEN l", "SCARD s", "ZCARD z", "STRLEN a"]);
    assert_eq!(answers, [":0", ":2", ":2", ":2", ":1", ":1"]);
    assert_eq!(ask(&mut peer, &["HKEYS h"]), ["*2"]);
    assert_eq!([(); 4].map(|()| peer.line()), ["$1\r\n", "z\r\n", "$1\r\n", "a\r\n"], "in their order");
    assert_ne!(ask(&mut peer, &["PTTL t"]), [":-1"]);
    assert_eq!(
        ask(&mut peer, &[&long.replace("SET", "EXISTS").replace(" v", ""), "SELECT 4", "STRLEN k"]),
        [":1", "+OK", ":3"]
    );
    assert_eq!(ask(&mut peer, &["SELECT 3", "STRLEN k"]), ["+OK", ":4"]);
}

/// A storage of commands that fails on demand.
#[derive(Clone, Default)]
struct Moody {
    kept: Arc<std::sync::Mutex<Vec<u8>>>,
    fails: Arc<AtomicBool>,
}

impl Storage for Moody {
    fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError> {
        loader.load(&self.kept.lock().unwrap())
    }

    fn commit(&mut self, changes: &[u8]) -> Result<(), StorageError> {
        if self.fails.load(Ordering::SeqCst) {
            return Err("in a mood: wait".into());
        }
        self.kept.lock().unwrap().extend_from_slice(changes);
        Ok(())
    }
}

#[test]
fn failures_are_reported_and_retried() {
    let storage = Moody::default();
    let start = |storage: &Moody| support::start(support::with(Default::default()).storage(storage.clone()));
    let server = start(&storage);
    let mut peer = Peer::connect(&server);
    assert_eq!(ask(&mut peer, &["SET a 1", "INCR a"]), ["+OK", ":2"]);
    storage.fails.store(true, Ordering::SeqCst);
    let mut closed = Peer::connect(&server);
    closed.send(&command(&[b"INCR", b"a"]));
    closed.expect_end();
    assert_eq!(ask(&mut peer, &["SET b 1"]), ["-MISCONF Errors writing to the storage: in a mood: wait"]);
    assert_eq!(ask(&mut peer, &["STRLEN a"]), [":1"], "reads go on");
    storage.fails.store(false, Ordering::SeqCst);
    // Retried within a second or two.
    let end = Instant::now() + Duration::from_secs(60);
    while ask(&mut peer, &["SET b 1"]) != ["+OK"] {
        assert!(Instant::now() < end, "is refused for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ask(&mut peer, &["BGREWRITEAOF"])[0].starts_with("-ERR there is no append-only file"));
    server.stop().unwrap();
    let kept = storage.kept.lock().unwrap().clone();
    let words: Vec<_> = commands(&kept).map(|words| String::from_utf8(words.join(&b' ')).unwrap()).collect();
    assert_eq!(words, ["SELECT 0", "SET a 1", "INCR a", "INCR a", "SET b 1"]);
    let server = start(&storage);
    assert_eq!(server.replayed().unwrap().commands, 5);
    assert_eq!(ask(&mut Peer::connect(&server), &["INCR a"]), [":4"]);
}

#[test]
fn a_load_error_prevents_startup() {
    let storage = Moody::default();
    storage.kept.lock().unwrap().extend_from_slice(b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI");
    let error =
        support::with(Default::default()).bind(([127, 0, 0, 1], 0)).storage(storage).start().err().unwrap();
    assert!(matches!(error, StartError::Storage(_)));
    assert!(error.to_string().contains("at byte 14"), "{error}");
}
