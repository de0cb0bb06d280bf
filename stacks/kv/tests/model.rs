//! Random commands compared with a simple model, in both protocols. Replaying the log and the dump reproduces
//! the keyspace.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};

use netdyno_kv_core::{Config, Engine, Outcome, SessionId, Timestamp};
use netdyno_resp::{Args, Progress, Protocol, Reply, RequestLimits, RequestParser};
use proptest::prelude::*;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
    Set(BTreeSet<Vec<u8>>),
    Zset(BTreeMap<Vec<u8>, i32>),
}

/// A simple model of keys, values and deadlines.
#[derive(Default)]
struct Model {
    keys: BTreeMap<Vec<u8>, (Value, Option<u64>)>,
    now: u64,
}

#[derive(Debug, Clone)]
enum Step {
    Set(u8, Vec<u8>),
    Get(u8),
    Append(u8, Vec<u8>),
    IncrBy(u8, i64),
    Del(u8),
    Rename(u8, u8),
    Expire(u8, u16),
    Ttl(u8),
    Wait(u16),
    Push(u8, bool, Vec<u8>),
    Pop(u8, bool),
    Range(u8, i8, i8),
    HashSet(u8, u8, Vec<u8>),
    HashGet(u8, u8),
    HashDel(u8, u8),
    SetAdd(u8, u8),
    SetRem(u8, u8),
    SetCard(u8),
    ScoreAdd(u8, u8, i8),
    ScoreRem(u8, u8),
    Rank(u8, u8),
    Members(u8),
    Size,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..6u8;
    let member = || 0..40u8;
    let text = || {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            proptest::collection::vec(b'0'..=b'9', 1..18),
            proptest::collection::vec(any::<u8>(), 60..120),
        ]
    };
    prop_oneof![
        (key(), text()).prop_map(|(k, v)| Step::Set(k, v)),
        key().prop_map(Step::Get),
        (key(), text()).prop_map(|(k, v)| Step::Append(k, v)),
        (key(), any::<i64>()).prop_map(|(k, n)| Step::IncrBy(k, n)),
        key().prop_map(Step::Del),
        (key(), key()).prop_map(|(a, b)| Step::Rename(a, b)),
        (key(), 0..3000u16).prop_map(|(k, ms)| Step::Expire(k, ms)),
        key().prop_map(Step::Ttl),
        (0..2000u16).prop_map(Step::Wait),
        (key(), any::<bool>(), text()).prop_map(|(k, left, v)| Step::Push(k, left, v)),
        (key(), any::<bool>()).prop_map(|(k, left)| Step::Pop(k, left)),
        (key(), any::<i8>(), any::<i8>()).prop_map(|(k, a, b)| Step::Range(k, a, b)),
        (key(), member(), text()).prop_map(|(k, f, v)| Step::HashSet(k, f, v)),
        (key(), member()).prop_map(|(k, f)| Step::HashGet(k, f)),
        (key(), member()).prop_map(|(k, f)| Step::HashDel(k, f)),
        (key(), member()).prop_map(|(k, m)| Step::SetAdd(k, m)),
        (key(), member()).prop_map(|(k, m)| Step::SetRem(k, m)),
        key().prop_map(Step::SetCard),
        (key(), member(), any::<i8>()).prop_map(|(k, m, s)| Step::ScoreAdd(k, m, s)),
        (key(), member()).prop_map(|(k, m)| Step::ScoreRem(k, m)),
        (key(), member()).prop_map(|(k, m)| Step::Rank(k, m)),
        key().prop_map(Step::Members),
        Just(Step::Size),
    ]
}

fn key_name(key: u8) -> Vec<u8> {
    format!("key:{key}").into_bytes()
}

fn member_name(member: u8) -> Vec<u8> {
    // Some are too long to be stored inline.
    format!("{member}{}", "m".repeat(usize::from(member))).into_bytes()
}

fn number(text: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

/// The value of a key with this type; writes the error for another type.
macro_rules! typed {
    ($model:expr, $key:expr, $reply:expr, $variant:ident, $empty:expr) => {
        match $model.keys.entry(key_name($key)).or_insert_with(|| (Value::$variant($empty), None)) {
            (Value::$variant(inner), _) => inner,
            _ => return $reply.error(WRONG_TYPE),
        }
    };
}

impl Model {
    fn settle(&mut self) {
        let now = self.now;
        self.keys.retain(|_, (value, deadline)| {
            let empty = match value {
                Value::Text(_) => false,
                Value::List(list) => list.is_empty(),
                Value::Hash(hash) => hash.is_empty(),
                Value::Set(set) => set.is_empty(),
                Value::Zset(zset) => zset.is_empty(),
            };
            !empty && deadline.is_none_or(|at| at > now)
        });
    }

    fn text(&self, key: u8) -> Result<Option<&Vec<u8>>, ()> {
        match self.keys.get(&key_name(key)) {
            None => Ok(None),
            Some((Value::Text(text), _)) => Ok(Some(text)),
            Some(_) => Err(()),
        }
    }

    fn run(&mut self, step: &Step, reply: &mut Reply<'_>) {
        self.run_unsettled(step, reply);
        self.settle();
    }

    fn run_unsettled(&mut self, step: &Step, reply: &mut Reply<'_>) {
        match step {
            Step::Set(key, value) => {
                self.keys.insert(key_name(*key), (Value::Text(value.clone()), None));
                reply.ok();
            }
            Step::Get(key) => match self.text(*key) {
                Ok(Some(text)) => reply.bulk(text),
                Ok(None) => reply.null(),
                Err(()) => reply.error(WRONG_TYPE),
            },
            Step::Append(key, more) => {
                if self.text(*key).is_err() {
                    return reply.error(WRONG_TYPE);
                }
                let entry = self.keys.entry(key_name(*key)).or_insert((Value::Text(Vec::new()), None));
                if let Value::Text(text) = &mut entry.0 {
                    text.extend_from_slice(more);
                    reply.integer(text.len() as i64);
                }
            }
            Step::IncrBy(key, by) => {
                let old = match self.text(*key) {
                    Err(()) => return reply.error(WRONG_TYPE),
                    Ok(text) => text.map_or(Some(0), |text| number(text)),
                };
                let Some(old) = old else {
                    return reply.error("ERR value is not an integer or out of range");
                };
                let Some(new) = old.checked_add(*by) else {
                    return reply.error("ERR increment or decrement would overflow");
                };
                let entry = self.keys.entry(key_name(*key)).or_insert((Value::Text(Vec::new()), None));
                entry.0 = Value::Text(new.to_string().into_bytes());
                reply.integer(new);
            }
            Step::Del(key) => reply.integer(i64::from(self.keys.remove(&key_name(*key)).is_some())),
            Step::Rename(from, to) => match self.keys.remove(&key_name(*from)) {
                Some(entry) => {
                    self.keys.insert(key_name(*to), entry);
                    reply.ok();
                }
                None => reply.error("ERR no such key"),
            },
            Step::Expire(key, ms) => {
                let now = self.now;
                match self.keys.get_mut(&key_name(*key)) {
                    Some(entry) => {
                        entry.1 = Some(now + u64::from(*ms));
                        reply.integer(1);
                    }
                    None => reply.integer(0),
                }
            }
            Step::Ttl(key) => reply.integer(match self.keys.get(&key_name(*key)) {
                None => -2,
                Some((_, None)) => -1,
                Some((_, Some(at))) => (at - self.now) as i64,
            }),
            Step::Wait(_) | Step::Size => reply.integer(self.keys.len() as i64),
            other => self.run_collection(other, reply),
        }
    }

    fn run_collection(&mut self, step: &Step, reply: &mut Reply<'_>) {
        match step {
            Step::Push(key, left, value) => {
                let list = typed!(self, *key, reply, List, Vec::new());
                list.insert(if *left { 0 } else { list.len() }, value.clone());
                reply.integer(list.len() as i64);
            }
            Step::Pop(key, left) => {
                let list = typed!(self, *key, reply, List, Vec::new());
                match list.len() {
                    0 => reply.null(),
                    len => reply.bulk(&list.remove(if *left { 0 } else { len - 1 })),
                }
            }
            Step::Range(key, start, end) => {
                let list = typed!(self, *key, reply, List, Vec::new());
                let len = list.len() as i64;
                let from = |at: i8| if at < 0 { i64::from(at) + len } else { i64::from(at) };
                let (start, end) = (from(*start).max(0), from(*end).min(len - 1));
                let part: Vec<_> = (start..=end).map(|at| list[at as usize].clone()).collect();
                reply.array(part.len());
                part.iter().for_each(|element| reply.bulk(element));
            }
            Step::HashSet(key, field, value) => {
                let hash = typed!(self, *key, reply, Hash, BTreeMap::new());
                let new = hash.insert(member_name(*field), value.clone()).is_none();
                reply.integer(i64::from(new));
            }
            Step::HashGet(key, field) => {
                let hash = typed!(self, *key, reply, Hash, BTreeMap::new());
                match hash.get(&member_name(*field)) {
                    Some(value) => reply.bulk(value),
                    None => reply.null(),
                }
            }
            Step::HashDel(key, field) => {
                let hash = typed!(self, *key, reply, Hash, BTreeMap::new());
                reply.integer(i64::from(hash.remove(&member_name(*field)).is_some()));
            }
            Step::SetAdd(key, member) => {
                let set = typed!(self, *key, reply, Set, BTreeSet::new());
                reply.integer(i64::from(set.insert(member_name(*member))));
            }
            Step::SetRem(key, member) => {
                let set = typed!(self, *key, reply, Set, BTreeSet::new());
                reply.integer(i64::from(set.remove(&member_name(*member))));
            }
            Step::SetCard(key) => reply.integer(typed!(self, *key, reply, Set, BTreeSet::new()).len() as i64),
            Step::ScoreAdd(key, member, score) => {
                let zset = typed!(self, *key, reply, Zset, BTreeMap::new());
                reply.integer(i64::from(zset.insert(member_name(*member), i32::from(*score)).is_none()));
            }
            Step::ScoreRem(key, member) => {
                let zset = typed!(self, *key, reply, Zset, BTreeMap::new());
                reply.integer(i64::from(zset.remove(&member_name(*member)).is_some()));
            }
            Step::Rank(key, member) => {
                let zset = typed!(self, *key, reply, Zset, BTreeMap::new());
                match ranked(zset).iter().position(|(_, name)| *name == member_name(*member)) {
                    Some(rank) => reply.integer(rank as i64),
                    None => reply.null(),
                }
            }
            Step::Members(key) => {
                let members = ranked(typed!(self, *key, reply, Zset, BTreeMap::new()));
                let nested = reply.protocol() == Protocol::Resp3;
                reply.array(if nested { members.len() } else { members.len() * 2 });
                for (score, member) in members {
                    if nested {
                        reply.array(2);
                    }
                    reply.bulk(&member);
                    reply.double(f64::from(score));
                }
            }
            _ => unreachable!("the others are not collections"),
        }
    }
}

fn ranked(zset: &BTreeMap<Vec<u8>, i32>) -> Vec<(i32, Vec<u8>)> {
    let mut members: Vec<_> = zset.iter().map(|(member, score)| (*score, member.clone())).collect();
    members.sort();
    members
}

fn command(step: &Step, now: u64) -> Vec<Vec<u8>> {
    let words = |name: &str, rest: Vec<Vec<u8>>| [vec![name.as_bytes().to_vec()], rest].concat();
    let text = |number: i64| number.to_string().into_bytes();
    match step {
        Step::Set(k, v) => words("SET", vec![key_name(*k), v.clone()]),
        Step::Get(k) => words("get", vec![key_name(*k)]),
        Step::Append(k, v) => words("APPEND", vec![key_name(*k), v.clone()]),
        Step::IncrBy(k, n) => words("INCRBY", vec![key_name(*k), text(*n)]),
        Step::Del(k) => words("DEL", vec![key_name(*k)]),
        Step::Rename(a, b) => words("RENAME", vec![key_name(*a), key_name(*b)]),
        Step::Expire(k, ms) => words("PEXPIREAT", vec![key_name(*k), text(now as i64 + i64::from(*ms))]),
        Step::Ttl(k) => words("PTTL", vec![key_name(*k)]),
        Step::Push(k, left, v) => words(if *left { "LPUSH" } else { "RPUSH" }, vec![key_name(*k), v.clone()]),
        Step::Pop(k, left) => words(if *left { "LPOP" } else { "RPOP" }, vec![key_name(*k)]),
        Step::Range(k, a, b) => words("LRANGE", vec![key_name(*k), text((*a).into()), text((*b).into())]),
        Step::HashSet(k, f, v) => words("HSET", vec![key_name(*k), member_name(*f), v.clone()]),
        Step::HashGet(k, f) => words("HGET", vec![key_name(*k), member_name(*f)]),
        Step::HashDel(k, f) => words("HDEL", vec![key_name(*k), member_name(*f)]),
        Step::SetAdd(k, m) => words("SADD", vec![key_name(*k), member_name(*m)]),
        Step::SetRem(k, m) => words("SREM", vec![key_name(*k), member_name(*m)]),
        Step::SetCard(k) => words("SCARD", vec![key_name(*k)]),
        Step::ScoreAdd(k, m, s) => words("ZADD", vec![key_name(*k), text((*s).into()), member_name(*m)]),
        Step::ScoreRem(k, m) => words("ZREM", vec![key_name(*k), member_name(*m)]),
        Step::Rank(k, m) => words("ZRANK", vec![key_name(*k), member_name(*m)]),
        Step::Members(k) => words("ZRANGE", vec![key_name(*k), text(0), text(-1), b"WITHSCORES".to_vec()]),
        Step::Wait(_) | Step::Size => words("DBSIZE", Vec::new()),
    }
}

struct Server {
    engine: Engine,
    session: SessionId,
}

impl Server {
    fn new(seed: u64) -> Self {
        let mut engine = Engine::new(Config::default(), seed);
        let session = engine.open(Timestamp::default(), "test");
        Self { engine, session }
    }

    fn run(&mut self, now: u64, args: &[&[u8]]) -> Vec<u8> {
        let (mut out, now) = (Vec::new(), Timestamp { unix_ms: now, monotonic_us: now * 1000 });
        assert_eq!(self.engine.batch(now, self.session).execute(args, &mut out), Outcome::Continue);
        out
    }

    /// Replays commands from a file.
    fn replay(&mut self, now: u64, mut commands: &[u8]) {
        let mut parser = RequestParser::new(RequestLimits::default());
        let mut args = Args::default();
        while let Progress::Complete(bytes) = parser.parse(commands, &mut args).unwrap() {
            let words: Vec<&[u8]> = args.iter(commands).collect();
            let reply = self.run(now, &words);
            assert_ne!(reply.first(), Some(&b'-'), "{:?}", String::from_utf8_lossy(&reply));
            commands = &commands[bytes..];
        }
        assert!(commands.is_empty());
    }

    /// The complete contents in an order that is independent of the seed: replies of read commands.
    fn contents(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut contents = Vec::new();
        for key in (0..6).map(key_name) {
            for read in [&b"TYPE"[..], b"PEXPIRETIME", b"GET", b"HLEN", b"SCARD"] {
                contents.push(self.run(now, &[read, &key]));
            }
            contents.push(self.run(now, &[b"LRANGE", &key, b"0", b"-1"]));
            contents.push(self.run(now, &[b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"]));
            for member in (0..40).map(member_name) {
                contents.push(self.run(now, &[b"HGET", &key, &member]));
                contents.push(self.run(now, &[b"SISMEMBER", &key, &member]));
            }
        }
        contents
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn behaves_like_the_model(
        steps in proptest::collection::vec(step(), 1..400),
        resp3 in any::<bool>(),
        seed in any::<u64>(),
        dump_at in 0..400usize,
    ) {
        let (mut server, mut model) = (Server::new(seed), Model { now: 1_000_000, ..Model::default() });
        let protocol = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        if resp3 {
            server.run(model.now, &[b"HELLO", b"3"]);
        }
        server.engine.record(true);
        let (mut log, mut file, mut dumping) = (Vec::new(), Vec::new(), false);
        for (at, step) in steps.iter().enumerate() {
            if let Step::Wait(ms) = step {
                model.now += u64::from(*ms);
                model.settle();
                server.engine.tick(Timestamp { unix_ms: model.now, monotonic_us: 0 });
            }
            let words = command(step, model.now);
            let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
            let mut expected = Vec::new();
            let now = model.now;
            model.run(step, &mut Reply::new(&mut expected, protocol));
            let actual = server.run(now, &words);
            prop_assert_eq!(String::from_utf8_lossy(&actual), String::from_utf8_lossy(&expected), "{:?}", step);
            let logged = std::mem::take(server.engine.take_log());
            log.extend_from_slice(&logged);
            // A file starts at any time: parts of the keyspace and the log in order.
            if at == dump_at {
                server.engine.begin_dump();
                dumping = true;
            } else if at > dump_at {
                file.extend_from_slice(&logged);
            }
            if dumping {
                dumping = !server.engine.dump(1, &mut file);
            }
        }
        while dumping {
            dumping = !server.engine.dump(1, &mut file);
        }
        server.engine.record(false);
        server.run(model.now, &[b"HELLO", b"2"]);
        let contents = server.contents(model.now);
        let mut again = Server::new(!seed);
        again.replay(0, &log);
        prop_assert!(again.contents(model.now) == contents, "the log gives another keyspace");
        if dump_at < steps.len() {
            let mut again = Server::new(seed ^ 1);
            again.replay(0, &file);
            prop_assert!(again.contents(model.now) == contents, "the dump gives another keyspace");
        }
        let empty = Server::new(seed).engine.memory_bytes();
        for key in 0..6 {
            server.run(model.now, &[b"DEL", &key_name(key)]);
        }
        prop_assert!(server.engine.memory_bytes() <= empty + 1024, "{} bytes of nothing", server.engine.memory_bytes());
    }
}
