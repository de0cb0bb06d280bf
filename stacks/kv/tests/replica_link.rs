//! The link of a replica to its primary, without sockets: handshake, copy, changes, interruptions.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use netdyno_kv_core::{Config, Engine, HostRequest, LinkAction, ReplicaLink, SessionId, Timestamp};
use netdyno_resp::{Args, Progress, RequestLimits, RequestParser};

const MARK: &[u8; 40] = b"0123456789abcdef0123456789abcdef01234567";
const HISTORY: &str = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd";
const SECOND_US: u64 = 1_000_000;

fn time(us: u64) -> Timestamp {
    Timestamp { unix_ms: 1_000_000 + us / 1000, monotonic_us: us }
}

fn address() -> SocketAddr {
    ([127, 0, 0, 1], 6379).into()
}

/// A replica's engine and link, with the buffers of the connection.
struct Replica {
    engine: Engine,
    link: ReplicaLink,
    session: SessionId,
    input: Vec<u8>,
    output: Vec<u8>,
    connected: bool,
}

impl Replica {
    fn new(config: Config) -> Self {
        let mut engine = Engine::new(config, 2);
        engine.follow(Some(address()));
        assert_eq!(engine.take_request(), None, "follow is a command of the host here");
        let session = engine.open(time(0), "test");
        let (input, output) = (Vec::new(), Vec::new());
        Self { engine, link: ReplicaLink::default(), session, input, output, connected: false }
    }

    fn step(&mut self, now: Timestamp) {
        let consumed = self.link.handle_input(&mut self.engine, now, &self.input, &mut self.output);
        self.input.drain(..consumed);
        let output = self.connected.then_some(&mut self.output);
        self.link.handle_timeout(&mut self.engine, now, output);
        while let Some(action) = self.link.poll_action() {
            self.input.clear();
            self.output.clear();
            self.connected = action == LinkAction::Connect(address());
            if self.connected {
                self.link.handle_connecting(&mut self.engine, &mut self.output);
            }
        }
    }

    fn disconnect(&mut self, now: Timestamp) {
        self.connected = false;
        self.input.clear();
        self.output.clear();
        self.link.handle_disconnected(&mut self.engine, now, "the connection was closed");
    }

    /// Takes the commands sent so far.
    fn sent(&mut self) -> Vec<Vec<String>> {
        let (mut parser, mut args) = (RequestParser::new(RequestLimits::default()), Args::default());
        let (mut at, mut commands) = (0, Vec::new());
        while let Progress::Complete(bytes) = parser.parse(&self.output[at..], &mut args).unwrap() {
            let words = args.iter(&self.output[at..]);
            commands.push(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect());
            at += bytes;
        }
        self.output.drain(..at);
        commands
    }

    fn run(&mut self, line: &str) -> String {
        let (words, mut out) = (line.split(' ').map(str::as_bytes).collect::<Vec<_>>(), Vec::new());
        self.engine.execute(time(0), self.session, &words, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn info(&mut self, name: &str) -> String {
        let text = self.run("INFO replication");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().to_owned()
    }
}

fn contents(engine: &Engine) -> BTreeMap<(usize, Vec<u8>), Vec<u8>> {
    let mut all = BTreeMap::new();
    for db in 0..3 {
        engine.write_database(db, |key, value| drop(all.insert((db, key.to_vec()), value.to_vec())));
    }
    all
}

/// Replies of the primary, the last command of the replica after each, and the failure in INFO.
#[test]
fn handshake() {
    let full = format!("+FULLRESYNC {HISTORY} 10");
    let continued = format!("+CONTINUE {HISTORY}");
    for (replies, last, failure) in [
        (&[][..], "PING", ""),
        (&["+PONG"][..], "REPLCONF listening-port 6379", ""),
        (&["-NOAUTH x"], "REPLCONF listening-port 6379", ""),
        (&["-LOADING x"], "", "the primary refuses PING: -LOADING x"),
        (&["+PONG", "+OK"], "REPLCONF capa eof capa psync2", ""),
        (&["+PONG", "-ERR unknown", "-ERR unknown"], "PSYNC ? -1", ""),
        (&["+PONG", "", "+OK", "+OK"], "PSYNC ? -1", ""),
        (&["+PONG", "+OK", "+OK", "-ERR not me"], "", "the primary refuses PSYNC: -ERR not me"),
        (
            &["+PONG", "+OK", "+OK", "+FULLRESYNC short 1"],
            "",
            "the primary refuses PSYNC: +FULLRESYNC short 1",
        ),
        (&["+PONG", "+OK", "+OK", &full], "PSYNC ? -1", ""),
        (
            &["+PONG", "+OK", "+OK", &full, "", "$nothing"],
            "",
            "the length of the primary's copy is invalid: $nothing",
        ),
        (
            &["+PONG", "+OK", "+OK", &full, "$EOF:short"],
            "",
            "the length of the primary's copy is invalid: $EOF:short",
        ),
        (&["+PONG", "+OK", "+OK", &full, "$9", "REDIX0011"], "", "cannot load the primary's copy: "),
        (&["+PONG", "+OK", "+OK", &continued, "*1"], "PSYNC ? -1", "there is no session"),
    ] {
        for chunk in [1, 1000] {
            let mut replica = Replica::new(Config::default());
            replica.step(time(0));
            let mut sent = replica.sent();
            let bytes: Vec<u8> = replies.iter().flat_map(|line| format!("{line}\r\n").into_bytes()).collect();
            for part in bytes.chunks(chunk) {
                replica.input.extend_from_slice(part);
                replica.step(time(1));
                sent.append(&mut replica.sent());
            }
            let found = replica.info("master_link_trouble");
            assert!(
                found.starts_with(failure) && found.is_empty() == failure.is_empty(),
                "{replies:?}: {found}"
            );
            if failure.is_empty() {
                assert_eq!(sent.last().unwrap().join(" "), last, "{replies:?}");
            }
            assert_eq!(replica.connected, failure.is_empty(), "{replies:?}");
        }
    }
}

#[test]
fn authentication() {
    for (user, expected) in [("", "AUTH secret"), ("ann", "AUTH ann secret")] {
        let config =
            Config::default().with("masterauth", "secret").unwrap().with("masteruser", user).unwrap();
        let mut replica = Replica::new(config);
        replica.step(time(0));
        replica.input.extend(b"-NOAUTH Authentication required.\r\n");
        replica.step(time(1));
        assert_eq!(replica.sent().last().unwrap().join(" "), expected);
        replica.input.extend(b"-WRONGPASS invalid\r\n");
        replica.step(time(2));
        assert_eq!(replica.info("master_link_trouble"), "the primary refuses masterauth: -WRONGPASS invalid");
    }
}

/// Retries once a second; a silent primary is given up after `repl-timeout`; a permanent failure is not retried.
#[test]
fn timeouts_and_retries() {
    let mut replica = Replica::new(Config::default().with("repl-timeout", "5").unwrap());
    replica.step(time(0));
    assert!(replica.connected);
    replica.step(time(5 * SECOND_US));
    assert!(replica.connected);
    replica.step(time(5 * SECOND_US + 1));
    assert!(!replica.connected);
    assert_eq!(replica.info("master_link_trouble"), "no data from the primary");
    let retry = replica.link.next_deadline_us().unwrap();
    assert_eq!(retry, 6 * SECOND_US + 1);
    replica.step(time(retry - 1));
    assert!(!replica.connected);
    replica.step(time(retry));
    assert!(replica.connected);
    replica.disconnect(time(retry));
    assert_eq!(replica.info("master_link_trouble"), "the connection was closed");
    replica.step(time(retry + SECOND_US));
    replica.input.extend(b"+PONG\r\n+OK\r\n+OK\r\n");
    replica.input.extend(format!("+FULLRESYNC {HISTORY} 0\r\n$18\r\nREDIS0001").bytes());
    // A stream, which is not supported.
    replica.input.extend(b"\x0f\x06events\x00");
    replica.step(time(retry + SECOND_US + 1));
    let failure = replica.info("master_link_trouble");
    assert!(failure.contains("'events': a stream"), "{failure}");
    assert_eq!(replica.link.next_deadline_us(), None);
    replica.step(time(retry + 100 * SECOND_US));
    assert!(!replica.connected);
    // Another REPLICAOF starts over.
    replica.run("REPLICAOF NO ONE");
    replica.run("REPLICAOF 127.0.0.1 6379");
    assert_eq!(replica.engine.take_request(), Some(HostRequest::Follow));
    replica.step(time(retry + 101 * SECOND_US));
    assert!(replica.connected);
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % bound
    }
}

/// An engine as a primary, with its history and one connection.
struct Primary {
    engine: Engine,
    session: SessionId,
    history: Vec<u8>,
    /// Bytes of the history that the connection has been sent.
    sent: Option<usize>,
    full_copies: usize,
    parser: RequestParser,
    replies: Vec<u8>,
}

impl Primary {
    fn new() -> Self {
        let mut engine = Engine::new(Config::default(), 1);
        engine.record_for_followers();
        let session = engine.open(time(0), "test");
        let parser = RequestParser::new(RequestLimits::default());
        Self { engine, session, history: Vec::new(), sent: None, full_copies: 0, parser, replies: Vec::new() }
    }

    fn change(&mut self, now: Timestamp, random: &mut Random) {
        let key = random.below(20);
        let line = match random.below(12) {
            0 => format!("SELECT {}", random.below(3)),
            1 => format!("RPUSH l{key} {}", random.below(1000)),
            2 => format!("LPOP l{key}"),
            3 => format!("SADD s{key} {}", random.below(1000)),
            4 => format!("SPOP s{key}"),
            5 => format!("DEL t{key}"),
            6 => format!("HSET h{key} f{} v", random.below(100)),
            7 => "MULTI".into(),
            8 => "EXEC".into(),
            9 => format!("INCRBY n{key} {}", random.below(1000)),
            _ => format!("SET t{key} {}", "v".repeat(random.below(300))),
        };
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.engine.execute(now, self.session, &words, &mut Vec::new());
        self.history.append(self.engine.take_log());
    }

    /// Replies to the commands of the replica.
    fn receive(&mut self, now: Timestamp, input: &mut Vec<u8>) {
        let mut args = Args::default();
        while let Ok(Progress::Complete(bytes)) = self.parser.parse(input, &mut args) {
            let words: Vec<Vec<u8>> = args.iter(input).map(<[u8]>::to_vec).collect();
            input.drain(..bytes);
            match &words[0][..] {
                b"PING" => self.replies.extend(b"+PONG\r\n"),
                b"PSYNC" => self.synchronise(now, &words),
                b"REPLCONF" if words[1] == b"ACK" => {}
                _ => self.replies.extend(b"+OK\r\n"),
            }
        }
    }

    fn synchronise(&mut self, now: Timestamp, words: &[Vec<u8>]) {
        if words[1] == HISTORY.as_bytes() {
            let next: usize = std::str::from_utf8(&words[2]).unwrap().parse().unwrap();
            self.replies.extend(format!("+CONTINUE {HISTORY}\r\n").bytes());
            self.sent = Some(next - 1);
            return;
        }
        self.full_copies += 1;
        assert!(self.engine.begin_feed(now));
        self.history.append(self.engine.take_log());
        self.replies.extend(format!("+FULLRESYNC {HISTORY} {}\r\n$EOF:", self.history.len()).bytes());
        self.replies.extend(MARK);
        self.replies.extend(b"\r\n");
        while !self.engine.snapshot(1000, &mut self.replies) {}
        self.engine.drop_feed();
        self.replies.extend(MARK);
        self.sent = Some(self.history.len());
    }
}

/// Random changes, chunks and interruptions. Returns everything the replica has sent.
fn simulate(seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let (mut primary, mut replica) = (Primary::new(), Replica::new(Config::default()));
    let (mut us, mut trace, mut to_primary) = (0, Vec::new(), Vec::new());
    let mut interruptions = 0;
    for step in 0..3000 {
        us += random.below(5000) as u64;
        if step < 2500 {
            primary.change(time(us), &mut random);
            if random.below(300) == 0 {
                interruptions += 1;
                replica.disconnect(time(us));
                (primary.sent, primary.parser) = (None, RequestParser::new(RequestLimits::default()));
                primary.replies.clear();
                to_primary.clear();
            }
        } else if step == 2500 {
            for line in ["MULTI", "EXEC"] {
                primary.engine.execute(time(us), primary.session, &[line.as_bytes()], &mut Vec::new());
            }
            primary.history.append(primary.engine.take_log());
        } else {
            us += SECOND_US / 50;
        }
        if let Some(sent) = &mut primary.sent {
            primary.replies.extend(&primary.history[*sent..]);
            *sent = primary.history.len();
        }
        if replica.connected {
            let count = random.below(2000).min(primary.replies.len());
            replica.input.extend(primary.replies.drain(..count));
        }
        replica.step(time(us));
        trace.extend_from_slice(&replica.output);
        to_primary.append(&mut replica.output);
        if replica.connected {
            primary.receive(time(us), &mut to_primary);
        }
    }
    assert_eq!(replica.info("master_link_status"), "up", "seed {seed}");
    assert_eq!(contents(&replica.engine), contents(&primary.engine), "seed {seed}");
    assert!(contents(&primary.engine).len() > 30, "seed {seed}");
    assert!(primary.full_copies <= 1 + interruptions, "seed {seed}");
    trace
}

#[test]
fn a_replica_converges_in_spite_of_interruptions() {
    for seed in 0..30 {
        simulate(seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    assert_eq!(simulate(7), simulate(7));
}
