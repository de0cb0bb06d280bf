//! Snapshots contain the keys as of their start, whatever changes meanwhile, and reproduce them when loaded.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;

use netdyno_kv_core::{Config, Engine, HostRequest, Loader, Outcome, Output, RdbFault, SessionId, Timestamp};

const START: Timestamp = Timestamp { unix_ms: 1_700_000_000_000, monotonic_us: 0 };
const SEED: u64 = 11;

/// A linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most
    }
}

struct Peer {
    engine: Engine,
    session: SessionId,
    now: Timestamp,
}

impl Peer {
    fn new(config: Config) -> Self {
        let mut engine = Engine::new(config, SEED);
        engine.keep_snapshots(START);
        let session = engine.open(START, "test");
        Self { engine, session, now: START }
    }

    fn run(&mut self, args: &[&[u8]]) -> (Outcome, Vec<u8>) {
        let mut out = Vec::new();
        let outcome = self.engine.execute(self.now, self.session, args, &mut out);
        (outcome, out)
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        String::from_utf8_lossy(&self.run(&words).1).into_owned()
    }

    /// The bytes of a bulk string.
    fn bulk(&mut self, args: &[&[u8]]) -> Vec<u8> {
        let reply = self.run(args).1;
        let begin = reply.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        reply[begin..reply.len() - 2].to_vec()
    }

    /// All keys of the first databases with values and deadlines.
    fn all(&mut self) -> BTreeMap<(usize, Vec<u8>), (Vec<u8>, String)> {
        let mut all = BTreeMap::new();
        for db in 0..4 {
            self.line(&format!("SELECT {db}"));
            let keys = self.run(&[b"KEYS", b"*"]).1;
            for key in bulks(&keys) {
                let value = self.bulk(&[b"DUMP", &key]);
                let deadline = String::from_utf8(self.run(&[b"PEXPIRETIME", &key]).1).unwrap();
                all.insert((db, key), (value, deadline));
            }
        }
        self.line("SELECT 0");
        all
    }

    fn snapshot(&mut self) -> Vec<u8> {
        self.engine.begin_snapshot(self.now);
        let mut bytes = Vec::new();
        while !self.engine.snapshot(1000, &mut bytes) {}
        self.engine.snapshot_ended(self.now, Ok(()));
        bytes
    }

    fn load(bytes: &[u8], step: usize) -> (Self, u64) {
        let mut peer = Self::new(Config::default());
        let mut loader = Loader::new();
        for part in bytes.chunks(step) {
            assert_eq!(loader.feed(&mut peer.engine, START, part), Ok(part.len()));
        }
        let keys = loader.finish(&mut peer.engine).unwrap().keys;
        (peer, keys)
    }
}

fn bulks(reply: &[u8]) -> Vec<Vec<u8>> {
    let mut parser = netdyno_resp::ReplyParser::new(netdyno_resp::ReplyLimits::default());
    let (mut rest, mut found) = (reply, Vec::new());
    while let Ok(Some((value, done))) = parser.next(rest) {
        if let netdyno_resp::Value::Bulk(text) = value {
            found.push(text.to_vec());
        }
        rest = &rest[done..];
    }
    found
}

/// A random command, mostly a write.
fn change(numbers: &mut Numbers, empties: bool) -> String {
    let key = |numbers: &mut Numbers| format!("k{}", numbers.below(60));
    let (a, b, n) = (key(numbers), key(numbers), numbers.below(300));
    let long = "abc".repeat(numbers.below(40));
    let at = START.unix_ms + 20 + numbers.below(2000) as u64;
    match numbers.below(30) {
        0 => format!("SET {a} {n}"),
        1 => format!("SET {a} v{long}"),
        2 => format!("SET {a} {n} PXAT {at}"),
        3 => format!("APPEND {a} {long}x"),
        4 | 5 => format!("RPUSH l{a} {n} {long}x -{n}"),
        6 => format!("LPOP l{a}"),
        7 => format!("LSET l{a} 0 {n}"),
        8 | 9 => format!("SADD s{a} {n} m{n} {long}x"),
        10 => format!("SREM s{a} {n}"),
        11 | 12 => format!("HSET h{a} f{n} {long}x {n} {n}"),
        13 => format!("HDEL h{a} {n}"),
        14 | 15 => format!("ZADD z{a} {n}.25 m{n} -{n} {n} inf top"),
        16 => format!("ZPOPMIN z{a}"),
        17 => format!("ZINCRBY z{a} 1.5 m{n}"),
        18 => format!("PEXPIREAT s{a} {at}"),
        19 => format!("PERSIST {a}"),
        20 => format!("RENAME {a} {b}"),
        21 => format!("COPY l{a} l{b} DB {} REPLACE", numbers.below(4)),
        22 => format!("MOVE h{a} {}", numbers.below(4)),
        23 => format!("DEL {a} l{b} s{a}"),
        24 => format!("SUNIONSTORE s{a} s{b} s{a}"),
        25 => format!("SORT l{a} BY nosort STORE l{b}"),
        26 | 27 => format!("SELECT {}", numbers.below(4)),
        28 if numbers.below(6) == 0 => format!("SWAPDB {} {}", numbers.below(4), numbers.below(4)),
        29 if empties && numbers.below(12) == 0 => {
            if numbers.below(2) == 0 {
                "FLUSHDB".into()
            } else {
                "FLUSHALL".into()
            }
        }
        _ => format!("SETRANGE {a} {} y", n % 50),
    }
}

#[test]
fn a_snapshot_round_trips_in_chunks_of_any_size() {
    for seed in 0..6 {
        let mut numbers = Numbers(seed);
        let mut peer = Peer::new(Config::default());
        (0..800).for_each(|_| drop(peer.line(&change(&mut numbers, false))));
        let all = peer.all();
        let bytes = peer.snapshot();
        for step in [1, 7, 100, 4096, usize::MAX] {
            let (mut other, keys) = Peer::load(&bytes, step);
            assert_eq!(
                (other.all() == all, keys),
                (true, all.len() as u64),
                "seed {seed}, {step} bytes each"
            );
        }
        assert!(all.len() > 40, "seed {seed}: {}", all.len());
    }
}

#[test]
fn a_snapshot_has_the_keys_as_of_its_start() {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let mut peer = Peer::new(Config::default());
        (0..600).for_each(|_| drop(peer.line(&change(&mut numbers, false))));
        let all = peer.all();
        peer.engine.begin_snapshot(peer.now);
        let mut bytes = Vec::new();
        while !peer.engine.snapshot(1 + numbers.below(900), &mut bytes) {
            peer.now.unix_ms += numbers.below(60) as u64;
            peer.engine.tick(peer.now);
            (0..numbers.below(12)).for_each(|_| drop(peer.line(&change(&mut numbers, true))));
            if numbers.below(30) == 0 {
                peer.line("CONFIG SET maxmemory 10000 maxmemory-policy allkeys-random");
                peer.line("SET one more");
                peer.line("CONFIG SET maxmemory 0 maxmemory-policy noeviction");
            }
        }
        let (mut other, _) = Peer::load(&bytes, 500);
        let found = other.all();
        let differ = all.iter().find(|(key, value)| found.get(key) != Some(value));
        assert!(found == all, "seed {seed}: {} keys instead of {}, {differ:?}", found.len(), all.len());
    }
}

#[test]
fn damage_is_an_error_and_nothing_else() {
    let mut numbers = Numbers(5);
    let mut peer = Peer::new(Config::default());
    (0..60).for_each(|_| drop(peer.line(&change(&mut numbers, false))));
    let bytes = peer.snapshot();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << numbers.below(8);
        let mut other = Peer::new(Config::default());
        let mut loader = Loader::new();
        let fed = loader.feed(&mut other.engine, START, &changed);
        assert!(fed.is_err() || loader.finish(&mut other.engine).is_err(), "byte {at} of {}", bytes.len());
        let mut loader = Loader::new();
        let mut other = Peer::new(Config::default());
        loader.feed(&mut other.engine, START, &bytes[..at]).unwrap();
        assert_eq!(loader.finish(&mut other.engine).unwrap_err().fault, RdbFault::CutOff);
    }
}

#[test]
fn unsupported_data_is_named() {
    for (bytes, expected) in [
        (&b"REDIS0010\xfe\x00\x0f\x06stream"[..], "byte 11, key 'stream': a stream (type 15)"),
        (b"REDIS0009\x07\x01m", "byte 9, key 'm': a module's value (type 7)"),
        (b"REDIS0012", "byte 0: format version 12 is not supported; the newest supported one is 11"),
        (b"REDIS00x1", "byte 0: it is not a snapshot: it does not start with REDIS"),
        (b"*1\r\n$4\r\nPING\r\n", "byte 0: it is not a snapshot: it does not start with REDIS"),
        (b"REDIS0009\xfe\x10\x00\x01k\x01v", "byte 12, key 'k': it is in database 16, but there are only 16"),
        (b"REDIS0009\x00\x01k\x01v\x00\x01k\x01v", "byte 17, key 'k': the key comes twice"),
        (b"REDIS0009\x02\x01k\x02\x01v\x01v", "key 'k': a member or field comes twice"),
        (b"REDIS0009\x63\x01k", "type 99 is not known"),
        (b"REDIS0009\xff12345678", "the checksum does not match"),
    ] {
        let mut peer = Peer::new(Config::default());
        let error = Loader::new().feed(&mut peer.engine, START, bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} has not {expected:?}");
    }
}

#[test]
fn dump_and_restore_round_trip() {
    let mut peer = Peer::new(Config::default());
    peer.line("RPUSH list a 1 -70000 some-longer-text");
    let payload = peer.bulk(&[b"DUMP", b"list"]);
    assert_eq!(peer.line("DUMP none"), "$-1\r\n");
    let restore = |peer: &mut Peer, key: &str, ttl: &str, payload: &[u8], more: &str| {
        let mut args = vec![b"RESTORE", key.as_bytes(), ttl.as_bytes(), payload];
        args.extend(more.split_whitespace().map(str::as_bytes));
        String::from_utf8(peer.run(&args).1).unwrap()
    };
    let mut bad = payload.clone();
    bad[2] ^= 1;
    let mut newer = payload[..payload.len() - 10].to_vec();
    newer.extend([99, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let unchecked = [&payload[..payload.len() - 8], &[0; 8]].concat();
    let senseless = [&b"\x0f\x01\x02"[..], &[10, 0], &[0; 8]].concat();
    let wrong = "-ERR DUMP payload version or checksum are wrong\r\n";
    for (key, ttl, payload, more, expected) in [
        ("list", "0", &payload[..], "", "-BUSYKEY Target key name already exists.\r\n"),
        ("list", "0", &payload, "REPLACE", "+OK\r\n"),
        ("new", "0", &bad, "", wrong),
        ("new", "0", &newer, "", wrong),
        ("new", "0", b"short", "", wrong),
        ("new", "0", &senseless, "", "-ERR Bad data format\r\n"),
        ("new", "-1", &payload, "", "-ERR Invalid TTL value, must be >= 0\r\n"),
        ("new", "x", &payload, "", "-ERR value is not an integer or out of range\r\n"),
        ("new", "0", &payload, "IDLETIME -1", "-ERR Invalid IDLETIME value, must be >= 0\r\n"),
        ("new", "0", &payload, "FREQ 256", "-ERR Invalid FREQ value, must be >= 0 and <= 255\r\n"),
        ("new", "0", &payload, "FREQ", "-ERR syntax error\r\n"),
        ("new", "0", &payload, "NONE", "-ERR syntax error\r\n"),
        ("past", "1", &payload, "ABSTTL", "+OK\r\n"),
        ("new", "5000", &unchecked, "IDLETIME 1000", "+OK\r\n"),
    ] {
        assert_eq!(restore(&mut peer, key, ttl, payload, more), expected, "{key} {ttl} {more}");
    }
    assert_eq!(peer.line("LRANGE new 0 -1"), peer.line("LRANGE list 0 -1"));
    assert_eq!(peer.line("PTTL new"), ":5000\r\n");
    assert_eq!(peer.line("EXISTS past"), ":0\r\n");
    assert_eq!(restore(&mut peer, "new", "0", &payload, "REPLACE IDLETIME 1000"), "+OK\r\n");
    assert_eq!(peer.line("OBJECT IDLETIME new"), ":1000\r\n");
    peer.line("CONFIG SET maxmemory-policy allkeys-lfu");
    assert_eq!(restore(&mut peer, "new", "0", &payload, "REPLACE FREQ 77"), "+OK\r\n");
    assert_eq!(peer.line("OBJECT FREQ new"), ":77\r\n");
}

#[test]
fn waiting_sessions_receive_the_result() {
    let mut peer = Peer::new(Config::default());
    assert_eq!(peer.line("BGSAVE"), "+Background saving started\r\n");
    assert_eq!(peer.engine.take_request(), Some(HostRequest::Snapshot));
    assert_eq!(peer.line("BGSAVE SCHEDULE"), "-ERR Background save already in progress\r\n");
    assert!(peer.line("INFO persistence").contains("rdb_bgsave_in_progress:1\r\n"));
    peer.now.unix_ms += 3000;
    let now = peer.now;
    peer.engine.snapshot_ended(now, Ok(()));
    assert_eq!(peer.line("LASTSAVE"), format!(":{}\r\n", now.unix_ms / 1000));
    for (result, reply) in [(Ok(()), &b"+OK\r\n"[..]), (Err("no room"), b"-ERR no room\r\n")] {
        assert_eq!(peer.run(&[b"SAVE"]), (Outcome::Blocked, Vec::new()));
        peer.engine.snapshot_ended(now, result);
        assert_eq!(peer.engine.poll_output(), Some((peer.session, Output::Resume(reply.to_vec()))));
    }
    assert!(peer.line("INFO persistence").contains("rdb_last_bgsave_status:err\r\n"));
    assert_eq!(peer.line("SET a 1"), "+OK\r\n", "without save points nothing is promised");
    peer.line("CONFIG SET save 3600:1");
    assert!(peer.run(&[b"CONFIG", b"SET", b"save", b"3600 1"]).1.starts_with(b"+OK"));
    assert!(peer.line("SET a 1").starts_with("-MISCONF Redis is configured to save RDB snapshots"));
    peer.line("CONFIG SET stop-writes-on-bgsave-error no");
    assert_eq!(peer.line("SET a 1"), "+OK\r\n");
    assert_eq!(peer.run(&[b"SHUTDOWN"]).0, Outcome::Blocked);
    while let Some(request) = peer.engine.take_request() {
        assert!(
            matches!(request, HostRequest::Snapshot | HostRequest::Shutdown { save: true, force: false }),
            "{request:?}"
        );
    }
    peer.engine.refuse_shutdown();
    let refused = b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n".to_vec();
    assert_eq!(peer.engine.poll_output(), Some((peer.session, Output::Resume(refused))));
    assert_eq!(peer.run(&[b"SHUTDOWN", b"NOSAVE"]).0, Outcome::Close);
}

#[test]
fn save_points_trigger_snapshots() {
    let config = Config::default().with("save", "100 1  10 5").unwrap();
    let mut peer = Peer::new(config);
    assert!(peer.line("CONFIG GET save").contains("100 1 10 5"));
    let due = |peer: &mut Peer| peer.engine.next_deadline().map(|at| at - START.unix_ms);
    assert_eq!(due(&mut peer), None);
    peer.line("SET a 1");
    assert_eq!(due(&mut peer), Some(100_000));
    peer.line("MULTI");
    (0..4).for_each(|_| drop(peer.line("INCR a")));
    peer.line("EXEC");
    assert_eq!(due(&mut peer), Some(10_000));
    peer.now.unix_ms += 10_000;
    peer.engine.tick(peer.now);
    assert_eq!((peer.engine.take_request(), due(&mut peer)), (Some(HostRequest::Snapshot), None));
    peer.line("INCR a");
    peer.engine.snapshot_ended(peer.now, Err("no room"));
    assert_eq!(due(&mut peer), Some(15_000), "not again at once");
    peer.now.unix_ms += 5000;
    peer.engine.tick(peer.now);
    assert_eq!(peer.engine.take_request(), Some(HostRequest::Snapshot));
    peer.engine.snapshot_ended(peer.now, Ok(()));
    assert_eq!(due(&mut peer), None, "all is in it");
    for wrong in ["1", "x 1", "0 1", "1 0", "-1 1"] {
        assert!(peer.run(&[b"CONFIG", b"SET", b"save", wrong.as_bytes()]).1.starts_with(b"-ERR"), "{wrong}");
    }
    assert!(peer.line("CONFIG SET dir /tmp").contains("can't set protected config"));
}

#[test]
fn every_encoding_of_every_version_is_read() {
    const LIST: &[u8] = b"\x0f\0\0\0\x0c\0\0\0\x02\0\x00\xf3\x02\xf6\xff";
    const PACK: &[u8] = b"\x0b\0\0\0\x02\0\x02\x01\x05\x01\xff";
    let one = |code: u8, blob: &[u8]| [&[code, blob.len() as u8], blob].concat();
    for (bytes, command, expected) in [
        (b"\x00\xc0\x07".to_vec(), "GET k", "$1\r\n7\r\n"),
        (b"\x00\xc3\x04\x06\x00a\x40\x00".to_vec(), "GET k", "-ERR"),
        (b"\x00\xc3\x04\x04\x00a\x20\x00".to_vec(), "GET k", "$4\r\naaaa\r\n"),
        (b"\x01\x02\x012\xc0\x05".to_vec(), "LRANGE k 0 -1", "*2\r\n$1\r\n2\r\n$1\r\n5\r\n"),
        (b"\x02\x01\x012".to_vec(), "SMEMBERS k", "*1\r\n$1\r\n2\r\n"),
        (b"\x03\x01\x012\x015".to_vec(), "ZSCORE k 2", "$1\r\n5\r\n"),
        (b"\x03\x01\x012\xff".to_vec(), "ZSCORE k 2", "$4\r\n-inf\r\n"),
        (b"\x03\x01\x012\xfd".to_vec(), "ZSCORE k 2", "-ERR"),
        (b"\x04\x01\x012\x015".to_vec(), "HGET k 2", "$1\r\n5\r\n"),
        ([&b"\x05\x01\x012"[..], &5f64.to_le_bytes()].concat(), "ZSCORE k 2", "$1\r\n5\r\n"),
        (one(9, b"\x01\x012\x01\x005\xff"), "HGET k 2", "$1\r\n5\r\n"),
        (one(10, LIST), "LRANGE k 0 -1", "*2\r\n$1\r\n2\r\n$1\r\n5\r\n"),
        (one(11, b"\x02\0\0\0\x01\0\0\0\xff\xff"), "SMEMBERS k", "*1\r\n$2\r\n-1\r\n"),
        (one(12, LIST), "ZSCORE k 2", "$1\r\n5\r\n"),
        (one(13, LIST), "HGET k 2", "$1\r\n5\r\n"),
        ([b"\x0e\x02", &one(15, LIST)[1..], &one(15, LIST)[1..]].concat(), "LLEN k", ":4\r\n"),
        (one(16, PACK), "HGET k 2", "$1\r\n5\r\n"),
        (one(17, PACK), "ZSCORE k 2", "$1\r\n5\r\n"),
        (
            [&b"\x12\x02\x02"[..], &one(0, PACK)[1..], b"\x01\x03abc"].concat(),
            "LRANGE k 1 2",
            "*2\r\n$1\r\n5\r\n$3\r\nabc\r\n",
        ),
        (b"\x12\x01\x03\x03abc".to_vec(), "LLEN k", "-ERR"),
        (one(20, PACK), "SISMEMBER k 5", ":1\r\n"),
        (b"\x04\x00".to_vec(), "HLEN k", "-ERR"),
        (b"\x02\x01\x012more".to_vec(), "SCARD k", "-ERR"),
        (b"\x08\x01".to_vec(), "GET k", "-ERR"),
    ] {
        let mut peer = Peer::new(Config::default());
        let payload = [&bytes[..], &[11, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        let restored = String::from_utf8(peer.run(&[b"RESTORE", b"k", b"0", &payload]).1).unwrap();
        let found = if restored == "+OK\r\n" { peer.line(command) } else { restored };
        assert!(found.starts_with(expected), "{}: {found}", bytes.escape_ascii());
    }
}
