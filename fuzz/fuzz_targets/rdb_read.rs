//! Reads arbitrary bytes as a snapshot and as a payload of RESTORE: the result is independent of segmentation, and accepted keys survive a
//! round trip.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use netdyno_kv_core::{Config, Engine, Loader, RdbError, Timestamp};

const NOW: Timestamp = Timestamp { unix_ms: 1_000_000, monotonic_us: 0 };

type Keys = BTreeMap<Vec<u8>, Vec<u8>>;

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (step, payload, bytes) = input;
    if payload {
        return restore(bytes);
    }
    let (mut engine, result) = read(bytes, usize::MAX);
    let (mut other, other_result) = read(bytes, usize::from(step.max(1)));
    assert_eq!(result, other_result);
    let keys = all(&mut engine);
    assert_eq!(keys, all(&mut other));
    engine.begin_snapshot(NOW);
    let mut written = Vec::new();
    while !engine.snapshot(usize::from(step), &mut written) {}
    let (mut again, result) = read(&written, usize::MAX);
    assert_eq!(result.map(|loaded| loaded.keys), Ok(keys.len() as u64));
    assert_eq!(keys, all(&mut again));
});

fn read(bytes: &[u8], step: usize) -> (Engine, Result<netdyno_kv_core::Loaded, RdbError>) {
    let mut engine = Engine::new(Config::default(), 7);
    let mut loader = Loader::new();
    for part in bytes.chunks(step) {
        match loader.feed(&mut engine, NOW, part) {
            Ok(_) if loader.is_done() => break,
            Ok(done) => assert_eq!(done, part.len()),
            Err(error) => return (engine, Err(error)),
        }
    }
    let result = loader.finish(&mut engine);
    (engine, result)
}

/// The keys of the first databases with their DUMP payloads.
fn all(engine: &mut Engine) -> Keys {
    let (session, mut all) = (engine.open(NOW, "all"), Keys::new());
    let mut run = |words: &[&[u8]]| {
        let mut out = Vec::new();
        engine.execute(NOW, session, words, &mut out);
        out
    };
    for db in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"] {
        run(&[b"SELECT", db.as_bytes()]);
        let keys = run(&[b"KEYS", b"*"]);
        let mut parser = netdyno_resp::ReplyParser::new(netdyno_resp::ReplyLimits::default());
        let mut rest = &keys[..];
        while let Ok(Some((value, done))) = parser.next(rest) {
            rest = &rest[done..];
            if let netdyno_resp::Value::Bulk(key) = value {
                let dumped = [run(&[b"DUMP", key]), run(&[b"PEXPIRETIME", key])].concat();
                all.insert([db.as_bytes(), b" ", key].concat(), dumped);
            }
        }
    }
    all
}

fn restore(value: &[u8]) {
    let mut engine = Engine::new(Config::default(), 7);
    let session = engine.open(NOW, "restore");
    // Version 10, without a checksum.
    let payload = [value, &[10, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    let mut out = Vec::new();
    engine.execute(NOW, session, &[b"RESTORE", b"k", b"0", &payload], &mut out);
    assert!(out == b"+OK\r\n" || out == b"-ERR Bad data format\r\n", "{}", out.escape_ascii());
    assert_eq!(engine.keys(), usize::from(out[0] == b'+'));
    if out[0] == b'+' {
        let keys = all(&mut engine);
        engine.begin_snapshot(NOW);
        let mut written = Vec::new();
        while !engine.snapshot(1, &mut written) {}
        let (mut again, _) = read(&written, 3);
        assert_eq!(keys, all(&mut again));
    }
}
