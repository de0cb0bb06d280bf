//! With `always`, no reply is sent before the file is synced, according to the system calls.

use std::fs;
use std::process::Command;

use super::support::command;
use super::{Program, ask};

/// Counts of system calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    writes: usize,
    syncs: usize,
    answers: usize,
}

#[test]
fn no_reply_leaves_before_the_sync() {
    if !Command::new("strace").args(["-o", "/dev/null", "true"]).status().is_ok_and(|status| status.success())
    {
        println!("skipped: needs strace, and the right to use it");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let calls = directory.path().join("calls");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "8", "-e", "trace=write,writev,sendto,sendmsg,fdatasync,fsync", "-o"]);
    strace.arg(&calls).args([env!("CARGO_BIN_EXE_netdyno-kv"), "--io", "epoll"]);
    let program = Program::run(strace, directory.path(), "always", "1");
    let (mut one, mut other) = (program.connect(), program.connect());
    for n in 0..20 {
        assert_eq!(ask(&mut one, &["INCR", "n"]), format!(":{}\r\n", n + 1));
        other.send(&command(&[b"SET", b"k", b"v"]).repeat(10));
        (0..10).for_each(|_| assert_eq!(other.line(), "+OK\r\n"));
    }
    ask(&mut one, &["SHUTDOWN"]);
    program.wait();
    let seen = follow(&fs::read_to_string(calls).unwrap());
    assert!(seen.writes >= 40 && seen.syncs >= 40 && seen.answers >= 40, "{seen:?}");
}

/// Follows the system calls in order. strace prints an interrupted call in two lines: a write or sync counts
/// at its end, a reply at its start.
fn follow(calls: &str) -> Seen {
    let (mut seen, mut unsynced) = (Seen::default(), false);
    for line in calls.lines() {
        let of_file = line.contains("appendonly.aof");
        let resumed = line.contains("resumed>");
        if (line.contains("fdatasync(") && of_file || resumed && line.contains("fdatasync"))
            && line.ends_with("= 0")
        {
            (seen.syncs, unsynced) = (seen.syncs + 1, false);
        } else if line.contains(" write(") && of_file {
            (seen.writes, unsynced) = (seen.writes + 1, true);
        } else if line.contains("TCP:[") || line.contains("socket:[") {
            assert!(!unsynced, "an answer before the sync: {line}");
            seen.answers += 1;
        }
    }
    seen
}

#[test]
fn a_reply_before_the_sync_is_detected() {
    let write = "7 write(9</tmp/x/appendonly.aof>, \"*2\\r\\n$4\\r\\n\"..., 27) = 27\n";
    let sync = "7 fdatasync(9</tmp/x/appendonly.aof>) = 0\n";
    let answer = "7 sendto(11<socket:[99]>, \":1\\r\\n\", 4, MSG_NOSIGNAL, NULL, 0) = 4\n";
    assert_eq!(follow(&[write, sync, answer].concat()), Seen { writes: 1, syncs: 1, answers: 1 });
    for early in [[write, answer, sync], [sync, write, answer]] {
        assert!(std::panic::catch_unwind(|| follow(&early.concat())).is_err());
    }
}
