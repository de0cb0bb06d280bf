//! SIGKILL at random times under load, repeatedly with the same file.
//!
//! Tested, for every policy: no acknowledged change is lost, no change appears that was not sent, a
//! transaction is complete or absent, and the file still opens after truncation at any point of the last
//! generation's writes.
//!
//! Not tested: a power failure. A killed process leaves its writes in the page cache, so a kill does not
//! distinguish the policies. The additional guarantee of `always` is tested by the order of system calls:
//! `no_reply_leaves_before_the_sync` checks that no reply is sent between a write to the file and the end of
//! the `fdatasync` after it. Whether the disk keeps synced data is outside the scope of this test.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netdyno_kv::Fsync;

use super::support::{Peer, command};
use super::{POLICIES, Program, ask, get, start};

/// Connections that write.
const HANDS: usize = 4;

#[test]
fn ten_kills_lose_no_acknowledged_change() {
    kill_again_and_again(10);
}

/// `cargo test --release -p netdyno-kv --test durability two_hundred -- --ignored --nocapture`;
/// `NETDYNO_SEED=7` selects another sequence.
#[test]
#[ignore = "takes a minute: run it by the command above"]
fn two_hundred_kills_lose_no_acknowledged_change() {
    kill_again_and_again(200);
}

fn kill_again_and_again(rounds: usize) {
    let seed = std::env::var("NETDYNO_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    println!("NETDYNO_SEED={seed}");
    let mut random = Random(seed);
    let begin = Instant::now();
    let mut lives: Vec<_> = POLICIES.into_iter().map(|(_, policy)| Life::new(policy)).collect();
    for round in 0..rounds {
        lives[round % POLICIES.len()].round(round, &mut random);
    }
    for life in &lives {
        let Life { policy, kills, units, cut, rewritten, .. } = life;
        println!(
            "{policy}: {kills} kills, {units} units answered, {cut} times an end was cut off, {rewritten} rewrites begun"
        );
    }
    println!("{rounds} kills in {:?}", begin.elapsed());
    assert!(lives.iter().all(|life| life.units > 0));
}

/// One file, and its expected contents.
struct Life {
    policy: &'static str,
    directory: tempfile::TempDir,
    known: [Progress; HANDS],
    kills: usize,
    units: u64,
    cut: usize,
    rewritten: usize,
}

/// Progress of a connection: its counter, its string, its transactions.
type Progress = [u64; 3];

impl Life {
    fn new(policy: &'static str) -> Self {
        let (directory, known) = (tempfile::tempdir().unwrap(), Default::default());
        Self { policy, directory, known, kills: 0, units: 0, cut: 0, rewritten: 0 }
    }

    fn round(&mut self, round: usize, random: &mut Random) {
        let threads = if random.below(2) == 0 { "1" } else { "3" };
        let program = Program::start(self.directory.path(), self.policy, threads);
        let path = self.directory.path().join("appendonly.aof");
        let length = fs::metadata(&path).unwrap().len();
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| begin(program.connect(), hand, self.known[hand], Random(random.next())))
            .collect();
        let rewrite = random.below(4) == 0;
        let time = Duration::from_micros(random.below(80_000));
        if rewrite {
            std::thread::sleep(time / 4);
            ask(&mut program.connect(), &["BGREWRITEAOF"]);
        }
        std::thread::sleep(time);
        program.kill();
        let before = self.known;
        let hands: Vec<_> = hands.into_iter().map(|hand| hand.join().unwrap()).collect();
        let context = format!("{} round {round}, {time:?}", self.policy);
        if !rewrite {
            tear(&path, length, &before, &hands, random, &context);
        }
        let server = start(self.directory.path(), Fsync::No);
        let mut peer = Peer::connect(&server);
        for (hand, (answered, sent)) in hands.iter().enumerate() {
            let found = progress(&mut peer, hand, &context);
            check(&found, answered, *sent, &format!("{context}, hand {hand}"));
            self.units += answered[0] - before[hand][0];
            self.known[hand] = found;
        }
        let replayed = server.replayed().unwrap();
        assert_eq!(replayed.first_refusal, None, "{context}");
        self.cut += usize::from(replayed.cut_bytes > 0);
        self.kills += 1;
        self.rewritten += usize::from(rewrite);
        drop(peer);
        server.stop().unwrap();
    }
}

/// Every acknowledged change is present, and no more than was sent.
fn check(found: &Progress, at_least: &Progress, sent: Progress, context: &str) {
    let fits = (0..3).all(|kind| (at_least[kind]..=sent[kind]).contains(&found[kind]));
    assert!(fits, "{context}: {at_least:?} were answered, {found:?} are there, {sent:?} were sent");
}

/// A copy of the file, truncated anywhere within this generation's writes, sometimes with zeros appended: it
/// opens, has all earlier changes and no partial transaction.
fn tear(
    path: &Path,
    least: u64,
    before: &[Progress; HANDS],
    hands: &[(Progress, Progress)],
    random: &mut Random,
    context: &str,
) {
    let whole = fs::read(path).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let written = whole.len() as u64 - least;
    let length = (least + random.below(written + 1)) as usize;
    let zeros = if random.below(3) == 0 { random.below(5000) as usize } else { 0 };
    let mut torn = whole[..length].to_vec();
    torn.resize(length + zeros, 0);
    fs::write(copy.path().join("appendonly.aof"), torn).unwrap();
    let context = format!("{context}, torn at {length} of {} and {zeros} zeros", whole.len());
    let server = start(copy.path(), Fsync::No);
    let mut peer = Peer::connect(&server);
    for (hand, before) in before.iter().enumerate() {
        check(&progress(&mut peer, hand, &context), before, hands[hand].1, &context);
    }
    assert_eq!(ask(&mut peer, &["SET", "goes", "on"]), "+OK\r\n", "{context}");
    drop(peer);
    server.stop().unwrap();
}

fn progress(peer: &mut Peer, hand: usize, context: &str) -> Progress {
    let mut number = |name: &str| {
        let value = get(peer, &format!("{name}{hand}")).unwrap_or_else(|| "0".to_owned());
        value.split('.').next().unwrap().parse::<u64>().unwrap()
    };
    let (counter, string, one, other) = (number("n"), number("s"), number("a"), number("b"));
    assert_eq!(one, other, "{context}: half a transaction, hand {hand}");
    [counter, string, one]
}

/// Writes several units at a time until the connection ends. Returns what was acknowledged and what was sent.
fn begin(
    mut peer: Peer,
    hand: usize,
    known: Progress,
    mut random: Random,
) -> JoinHandle<(Progress, Progress)> {
    let key = move |name: &str| format!("{name}{hand}").into_bytes();
    std::thread::spawn(move || {
        let (mut answered, mut sent) = (known, known);
        loop {
            let (mut bytes, units) = (Vec::new(), 1 + random.below(12));
            for _ in 0..units {
                sent = sent.map(|n| n + 1);
                let value = format!("{}.{}", sent[1], "x".repeat(random.below(200) as usize));
                bytes.extend(command(&[b"INCR", &key("n")]));
                bytes.extend(command(&[b"SET", &key("s"), value.as_bytes()]));
                bytes.extend(command(&[b"MULTI"]));
                bytes.extend(command(&[b"INCR", &key("a")]));
                bytes.extend(command(&[b"INCR", &key("b")]));
                bytes.extend(command(&[b"EXEC"]));
            }
            if peer.another_hand().write_all(&bytes).is_err() {
                return (answered, sent);
            }
            for _ in 0..units {
                if read_unit(&mut peer, &mut answered).is_none() {
                    return (answered, sent);
                }
            }
        }
    })
}

/// `None` at the end.
fn read_unit(peer: &mut Peer, answered: &mut Progress) -> Option<()> {
    let [counter, string, transactions] = answered.map(|n| n + 1);
    assert_eq!(peer.try_line()?, format!(":{counter}\r\n"));
    answered[0] = counter;
    assert_eq!(peer.try_line()?, "+OK\r\n");
    answered[1] = string;
    for line in ["+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*2\r\n"] {
        assert_eq!(peer.try_line()?, line);
    }
    answered[2] = transactions;
    let each = format!(":{transactions}\r\n");
    assert_eq!([peer.try_line()?, peer.try_line()?], [each.clone(), each]);
    Some(())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
