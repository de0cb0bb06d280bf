//! The guarantees of the append-only file, tested from outside: restarts, kills, truncation, damage,
//! rewrites.

#![allow(clippy::unwrap_used)]

mod kills;
mod order;
#[path = "../serving/support.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netdyno_kv::{AofSettings, Builder, Fsync, Server, StartError};
use support::{Peer, command};

const POLICIES: [(Fsync, &str); 3] =
    [(Fsync::Always, "always"), (Fsync::EverySecond, "everysec"), (Fsync::No, "no")];

fn with(directory: &Path, fsync: Fsync) -> Builder {
    let mut settings = AofSettings::new(directory);
    settings.fsync = fsync;
    support::with(Default::default()).append_only(settings)
}

fn start(directory: &Path, fsync: Fsync) -> Server {
    support::start(with(directory, fsync))
}

/// Sends a command and returns the first line of its reply.
fn ask(peer: &mut Peer, words: &[&str]) -> String {
    peer.send(&command(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>()));
    peer.line()
}

fn get(peer: &mut Peer, key: &str) -> Option<String> {
    match ask(peer, &["GET", key]).as_str() {
        "$-1\r\n" => None,
        _ => Some(peer.line().trim_end().to_owned()),
    }
}

#[test]
fn a_restart_preserves_all_keys() {
    for (fsync, name) in POLICIES {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path(), fsync);
        let mut peer = Peer::connect(&server);
        for line in [
            "SET k v",
            "INCR n",
            "INCR n",
            "SELECT 3",
            "SET k other",
            "PEXPIREAT k 99999999999999",
            "SELECT 0",
        ] {
            ask(&mut peer, &line.split(' ').collect::<Vec<_>>());
        }
        for line in ["MULTI", "SET a 1", "INCR a"] {
            ask(&mut peer, &line.split(' ').collect::<Vec<_>>());
        }
        assert_eq!(ask(&mut peer, &["EXEC"]), "*2\r\n");
        server.stop().unwrap();

        let server = start(directory.path(), fsync);
        let mut peer = Peer::connect(&server);
        assert_eq!(server.replayed().unwrap().refused, 0);
        let found = ["k", "n", "a"].map(|key| get(&mut peer, key));
        assert_eq!(found, ["v", "2", "2"].map(|value| Some(value.to_owned())), "{name}");
        ask(&mut peer, &["SELECT", "3"]);
        assert_eq!(get(&mut peer, "k").as_deref(), Some("other"));
        assert_ne!(ask(&mut peer, &["PTTL", "k"]), ":-1\r\n");
    }
}

#[test]
fn two_servers_do_not_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let _server = start(directory.path(), Fsync::No);
    let error = with(directory.path(), Fsync::No).bind(([127, 0, 0, 1], 0)).start().err().unwrap();
    assert!(error.to_string().contains("in use by another server"), "{error}");
}

/// The program in a separate process, which can be killed.
struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(directory: &Path, fsync: &str, threads: &str) -> Self {
        Self::run(Command::new(env!("CARGO_BIN_EXE_netdyno-kv")), directory, fsync, threads)
    }

    /// Limits the size of its files to this many KiB: as on a full disk, a write is partial, then fails.
    fn start_with_little_room(directory: &Path, fsync: &str, kilobytes: u32) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -f {}; trap '' XFSZ; exec \"$0\" \"$@\"", 2 * kilobytes);
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_netdyno-kv")]);
        Self::run(shell, directory, fsync, "1")
    }

    fn run(mut program: Command, directory: &Path, fsync: &str, threads: &str) -> Self {
        let mut child = program
            .args([
                "--port",
                "0",
                "--appendonly",
                "yes",
                "--appendfsync",
                fsync,
                "--threads",
                threads,
                "--dir",
            ])
            .arg(directory)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("listening on ")?.1.split_once(';')?.0.to_owned())
        });
        // Drains later output, so that it does not block.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.unwrap() }
    }

    fn connect(&self) -> Peer {
        Peer::at(self.address.parse().unwrap())
    }

    /// Waits for the process to end.
    fn wait(mut self) {
        self.child.wait().unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn acknowledged_changes_survive_a_kill() {
    for (_, fsync) in POLICIES {
        let directory = tempfile::tempdir().unwrap();
        let program = Program::start(directory.path(), fsync, "2");
        let hands: Vec<_> = (0..4)
            .map(|hand| {
                let mut peer = program.connect();
                std::thread::spawn(move || {
                    let mut answered = 0;
                    // Several commands in flight, and an incomplete frame at the end.
                    while peer
                        .another_hand()
                        .write_all(&command(&[b"INCR", format!("n{hand}").as_bytes()]).repeat(10))
                        .is_ok()
                    {
                        for _ in 0..10 {
                            match peer.try_line() {
                                Some(line) => {
                                    answered = line.trim_start_matches(':').trim_end().parse().unwrap()
                                }
                                None => return answered,
                            }
                        }
                    }
                    answered
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        program.kill();
        let answered: Vec<u64> = hands.into_iter().map(|hand| hand.join().unwrap()).collect();

        let program = Program::start(directory.path(), fsync, "1");
        let mut peer = program.connect();
        for (hand, answered) in answered.into_iter().enumerate() {
            let found: u64 = get(&mut peer, &format!("n{hand}")).unwrap_or_default().parse().unwrap_or(0);
            assert!(
                found >= answered && answered > 0,
                "{fsync}: {answered} were answered, {found} are there"
            );
        }
    }
}

#[test]
fn acknowledged_changes_survive_a_full_disk() {
    for (_, fsync) in POLICIES {
        let directory = tempfile::tempdir().unwrap();
        let program = Program::start_with_little_room(directory.path(), fsync, 64);
        let mut peer = program.connect();
        let value = "x".repeat(1000);
        let answered = (0..1000).take_while(|n| {
            peer.send(&command(&[b"SET", format!("k{n}").as_bytes(), value.as_bytes()]));
            // The change that did not fit gets no reply.
            peer.try_line().is_some_and(|line| line == "+OK\r\n")
        });
        let answered = answered.count();
        assert!((50..64).contains(&answered), "{answered} answers");
        let mut peer = program.connect();
        assert!(
            ask(&mut peer, &["SET", "a", "b"])
                .starts_with("-MISCONF Errors writing to the AOF file: File too large")
        );
        assert_eq!(get(&mut peer, "k0").as_deref(), Some(value.as_str()));
        program.kill();

        let program = Program::start(directory.path(), fsync, "1");
        let mut peer = program.connect();
        let found = (0..1000).take_while(|n| get(&mut peer, &format!("k{n}")).is_some()).count();
        assert_eq!(found, answered, "{fsync}");
        assert_eq!(ask(&mut peer, &["SET", "a", "b"]), "+OK\r\n");
    }
}

#[test]
fn a_client_that_disconnects_gets_no_false_acknowledgement() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start_with_little_room(directory.path(), "always", 64);
    let mut peer = program.connect();
    let value = vec![b'x'; 100_000];
    peer.send(&[command(&[b"SET", b"k", &value]), command(&[b"QUIT"])].concat());
    peer.expect_end();
    let mut peer = program.connect();
    assert!(ask(&mut peer, &["SET", "a", "b"]).starts_with("-MISCONF"));
}

#[test]
fn an_incomplete_end_is_truncated_at_any_byte() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), Fsync::No);
    let mut peer = Peer::connect(&server);
    ask(&mut peer, &["SET", "first", "1"]);
    for line in ["MULTI", "SET second 2", "SET third 3"] {
        ask(&mut peer, &line.split(' ').collect::<Vec<_>>());
    }
    assert_eq!([ask(&mut peer, &["EXEC"]), peer.line(), peer.line()], ["*2\r\n", "+OK\r\n", "+OK\r\n"]);
    ask(&mut peer, &["SET", "fourth", "4"]);
    drop(peer);
    server.stop().unwrap();

    let path = directory.path().join("appendonly.aof");
    let whole = fs::read(&path).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let multi = text.find("*1\r\n$5\r\nMULTI").unwrap();
    let exec = text.find("EXEC\r\n").unwrap() + 6;
    for (length, zeros) in (0..=whole.len()).flat_map(|length| [(length, 0), (length, 5000)]) {
        let mut torn = whole[..length].to_vec();
        torn.resize(length + zeros, 0);
        fs::write(&path, &torn).unwrap();
        let server = start(directory.path(), Fsync::No);
        let mut peer = Peer::connect(&server);
        let second = get(&mut peer, "second").is_some();
        assert_eq!(second, length >= exec, "{length}");
        assert_eq!(get(&mut peer, "third").is_some(), second);
        assert_eq!(get(&mut peer, "first").is_some(), length >= multi);
        let fourth = get(&mut peer, "fourth");
        assert_eq!(
            fourth.is_some(),
            length == whole.len(),
            "{length} of {} and {zeros}: {:?}",
            whole.len(),
            server.replayed()
        );
        let kept = server.replayed().unwrap().bytes;
        assert_eq!(server.replayed().unwrap().cut_bytes, (length + zeros) as u64 - kept);
        // Later changes follow the retained ones.
        ask(&mut peer, &["SET", "fifth", "5"]);
        drop(peer);
        server.stop().unwrap();
        assert_eq!(fs::read(&path).unwrap()[..kept as usize], whole[..kept as usize]);
    }
}

#[test]
fn damage_prevents_startup_and_is_preserved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("appendonly.aof");
    let good = command(&[b"SET", b"k", b"v"]);
    for damage in [&b"PING\r\n"[..], b"*1\r\n$x\r\n", b"\0\0\0*1\r\n"] {
        let bytes = [&good[..], damage, &good].concat();
        fs::write(&path, &bytes).unwrap();
        let error = with(directory.path(), Fsync::No).bind(([127, 0, 0, 1], 0)).start().err().unwrap();
        assert!(matches!(error, StartError::Aof(_)));
        assert!(error.to_string().contains(&format!("at byte {}", good.len())), "{error}");
        assert!(error.to_string().contains("truncate -s"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_rewrite_under_load_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = AofSettings::new(directory.path());
    settings.rewrite_percent = 0;
    let server = support::start(support::with(Default::default()).threads(2).append_only(settings));
    let path = directory.path().join("appendonly.aof");
    let mut peer = Peer::connect(&server);
    for round in 0..5 {
        for key in 0..20_000 {
            let (key, value) = (format!("k{key}"), format!("{round}-{key}"));
            peer.send(&command(&[b"SET", key.as_bytes(), value.as_bytes()]));
        }
        (0..20_000).for_each(|_| assert_eq!(peer.line(), "+OK\r\n"));
    }
    let before = fs::metadata(&path).unwrap().len();
    let writers: Vec<_> = (0..3).map(|db| spawn_writer(&server, db)).collect();
    for _ in 0..3 {
        while !ask(&mut peer, &["BGREWRITEAOF"]).starts_with('+') {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let before_stop = everything(&mut peer);
    while fs::read_dir(directory.path()).unwrap().count() > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
    server.stop().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < before, "it was rewritten");

    let server = start(directory.path(), Fsync::No);
    assert_eq!(server.replayed().unwrap().first_refusal, None);
    let after = everything(&mut Peer::connect(&server));
    assert!(after == before_stop, "{} keys, then {}", before_stop.len(), after.len());
}

/// A client that modifies the keys of a database repeatedly.
fn spawn_writer(server: &Server, db: usize) -> std::thread::JoinHandle<()> {
    let mut peer = Peer::connect(server);
    std::thread::spawn(move || {
        ask(&mut peer, &["SELECT", &db.to_string()]);
        for n in 0..3000_u32 {
            let key = format!("k{}", n.wrapping_mul(2_654_435_761) % 20_000);
            match n % 4 {
                0 => ask(&mut peer, &["APPEND", &key, "+"]),
                1 => ask(&mut peer, &["INCR", &format!("n{}", n % 97)]),
                2 => ask(&mut peer, &["RENAME", &key, &format!("moved{}", n % 500)]),
                _ => ask(&mut peer, &["DEL", &key]),
            };
        }
    })
}

fn everything(peer: &mut Peer) -> Vec<(usize, String, Option<String>)> {
    let mut all = Vec::new();
    for db in 0..3 {
        ask(peer, &["SELECT", &db.to_string()]);
        let count: usize = ask(peer, &["KEYS", "*"])[1..].trim_end().parse().unwrap();
        let mut keys = Vec::new();
        for _ in 0..count {
            peer.line();
            keys.push(peer.line().trim_end().to_owned());
        }
        keys.sort();
        all.extend(keys.into_iter().map(|key| (db, key.clone(), get(peer, &key))));
    }
    all
}

#[test]
fn keys_do_not_expire_during_replay() {
    let directory = tempfile::tempdir().unwrap();
    let lines: [&[&[u8]]; 4] =
        [&[b"SELECT", b"0"], &[b"SET", b"n", b"5"], &[b"PEXPIREAT", b"n", b"1000"], &[b"INCR", b"n"]];
    let bytes = lines.map(command).concat();
    fs::write(directory.path().join("appendonly.aof"), bytes).unwrap();
    let server = start(directory.path(), Fsync::No);
    // If the key had expired during replay, there would be a 1 without a deadline.
    assert_eq!(get(&mut Peer::connect(&server), "n"), None);
}
