//! Disk failures and rewrites of the append-only file.

use std::fs::File;
use std::io;

use netdyno_kv_core::{Config, Engine, Timestamp};

use super::*;
use crate::aof::LogFile;
use crate::{AofSettings, Fsync};

fn open(settings: AofSettings, engine: &mut Engine) -> (Journal<LogFile>, Replayed) {
    Journal::open(Box::new(LogFile::open(settings).unwrap()), engine).unwrap()
}

struct Fixture {
    directory: tempfile::TempDir,
    engine: Engine,
    journal: Journal<LogFile>,
}

impl Fixture {
    fn new(fsync: Fsync) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = AofSettings::new(directory.path());
        settings.fsync = fsync;
        let mut engine = Engine::new(Config::default(), 1);
        let journal = open(settings, &mut engine).0;
        Self { directory, engine, journal }
    }

    /// Runs an iteration with one command. Returns the reply if it may be sent.
    fn run(&mut self, words: &[&[u8]]) -> Option<String> {
        let now = Timestamp { unix_ms: 1, monotonic_us: 1 };
        let session = self.engine.open(now, "test");
        let mut out = Vec::new();
        self.journal.update_engine(&mut self.engine);
        self.engine.execute(now, session, words, &mut out);
        let changed = !self.engine.take_log().is_empty();
        let position = self.journal.append(&mut self.engine, true);
        self.engine.close(session);
        let durable = self.journal.commit(position).is_ok();
        (durable || !changed).then(|| String::from_utf8(out).unwrap())
    }

    /// Replaces the open file and returns the previous one.
    fn swap(&self, file: File) -> File {
        std::mem::replace(&mut lock(&self.journal.storage).storage.file, file)
    }

    /// The words of the commands in the file.
    fn words(&self) -> String {
        let bytes = std::fs::read(self.directory.path().join("appendonly.aof")).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let words = text.lines().filter(|line| !line.starts_with(['*', '$']));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A device on which every write fails for lack of space.
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_full_disk_refuses_changes_until_there_is_space() {
    for fsync in [Fsync::Always, Fsync::EverySecond, Fsync::No] {
        let mut fixture = Fixture::new(fsync);
        assert_eq!(fixture.run(&[b"SET", b"a", b"1"]).as_deref(), Some("+OK\r\n"));
        let good = fixture.swap(full());
        assert_eq!(fixture.run(&[b"SET", b"b", b"2"]), None, "made, but not durable: no reply");
        let refusal = fixture.run(&[b"SET", b"c", b"3"]).unwrap();
        assert!(refusal.starts_with("-MISCONF Errors writing to the AOF file: No space left"), "{refusal}");
        assert_eq!(fixture.run(&[b"GET", b"a"]).as_deref(), Some("$1\r\n1\r\n"), "reads go on");
        fixture.swap(good);
        // As the background thread does every second.
        assert!(fixture.journal.write(&mut lock(&fixture.journal.storage)).is_ok());
        assert_eq!(fixture.run(&[b"SET", b"d", b"4"]).as_deref(), Some("+OK\r\n"));
        assert_eq!(fixture.words(), "SELECT 0 SET a 1 SET b 2 SET d 4");
    }
}

#[test]
fn a_failed_sync_is_not_retried() {
    let mut fixture = Fixture::new(Fsync::EverySecond);
    assert!(fixture.run(&[b"SET", b"a", b"1"]).is_some());
    {
        let error = io::Error::from_raw_os_error(5);
        let failed = lock(&fixture.journal.storage).storage.background_done(Err(error)).unwrap_err();
        fixture.journal.fail(&failed);
    }
    let refusal = fixture.run(&[b"SET", b"b", b"2"]).unwrap();
    assert!(refusal.contains("restart the server"), "{refusal}");
    assert!(fixture.journal.write(&mut lock(&fixture.journal.storage)).is_err());
}

#[test]
fn changes_continue_during_a_rewrite() {
    let mut fixture = Fixture::new(Fsync::No);
    for n in 0..20_000 {
        let key = format!("k{n}");
        assert!(fixture.run(&[b"SET", key.as_bytes(), b"some value of some length"]).is_some());
        if n == 10_000 {
            assert!(fixture.journal.request_rewrite());
            assert!(!fixture.journal.request_rewrite(), "under way");
        }
    }
    assert!(!fixture.journal.is_dumping());
    fixture.journal.stop();
    fixture.journal.maintain(|| ());
    assert!(fixture.run(&[b"SET", b"last", b"1"]).is_some());
    assert_eq!(std::fs::read_dir(fixture.directory.path()).unwrap().count(), 1, "no other file is left");
    let Fixture { directory, journal, .. } = fixture;
    drop(journal);
    let mut again = Engine::new(Config::default(), 1);
    let (journal, replayed) = open(AofSettings::new(directory.path()), &mut again);
    assert_eq!((replayed.refused, replayed.cut_bytes), (0, 0));
    let mut fixture = Fixture { directory, engine: again, journal };
    assert_eq!(fixture.run(&[b"DBSIZE"]).as_deref(), Some(":20001\r\n"));
}

#[test]
fn a_failed_rewrite_keeps_the_old_file() {
    let mut fixture = Fixture::new(Fsync::No);
    assert!(fixture.run(&[b"SET", b"a", b"1"]).is_some());
    // Without its directory, the new file cannot be created.
    let away = tempfile::tempdir().unwrap();
    let moved = away.path().join("moved");
    std::fs::rename(fixture.directory.path(), &moved).unwrap();
    assert!(fixture.journal.request_rewrite());
    while fixture.journal.is_dumping() {
        assert!(fixture.run(&[b"INCR", b"n"]).is_some());
    }
    fixture.journal.stop();
    fixture.journal.maintain(|| ());
    std::fs::rename(&moved, fixture.directory.path()).unwrap();
    assert!(fixture.run(&[b"SET", b"b", b"2"]).is_some());
    let words = fixture.words();
    assert!(words.starts_with("SELECT 0 SET a 1") && words.ends_with("SET b 2"), "{words}");
    assert!(fixture.journal.request_rewrite(), "and it can be tried again");
}

#[test]
fn changes_during_a_rewrite_stay_in_their_database() {
    let mut fixture = Fixture::new(Fsync::No);
    // Each iteration has its own session, which starts in database 0.
    for n in 0..10_000 {
        let key = format!("k{n}");
        assert!(fixture.run(&[b"SET", key.as_bytes(), b"some value of some length"]).is_some());
        assert!(fixture.run(&[b"MOVE", key.as_bytes(), b"5"]).is_some());
    }
    assert!(fixture.run(&[b"SET", b"n", b"0"]).is_some());
    assert!(fixture.journal.request_rewrite());
    let mut count = 0;
    while fixture.journal.is_dumping() {
        count += 1;
        assert_eq!(fixture.run(&[b"INCR", b"n"]), Some(format!(":{count}\r\n")));
    }
    assert!(count > 2, "it has several parts");
    fixture.journal.stop();
    fixture.journal.maintain(|| ());
    let Fixture { directory, journal, .. } = fixture;
    drop(journal);
    let mut engine = Engine::new(Config::default(), 1);
    let journal = open(AofSettings::new(directory.path()), &mut engine).0;
    let mut fixture = Fixture { directory, engine, journal };
    assert_eq!(fixture.run(&[b"GET", b"n"]), Some(format!("${}\r\n{count}\r\n", count.to_string().len())));
}

#[test]
fn the_sync_policy_changes_at_runtime() {
    let mut fixture = Fixture::new(Fsync::No);
    for (name, always) in [("everysec", false), ("always", true), ("sometimes", true), ("no", false)] {
        fixture.journal.set("appendfsync", name);
        lock(&fixture.journal.storage).storage.unsynced = false;
        assert_eq!(fixture.run(&[b"INCR", b"a"]).map(|reply| reply.starts_with(':')), Some(true));
        assert_eq!(lock(&fixture.journal.storage).storage.unsynced, !always, "{name}");
    }
}
