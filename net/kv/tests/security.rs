//! Secrets, and the files of a server.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "snapshots/client.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod client;

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use client::Client;
use netdyno_kv::{AofSettings, Builder, Server, SnapshotSettings};

fn builder() -> Builder {
    Server::builder().bind((Ipv4Addr::LOCALHOST, 0))
}

fn info(client: &mut Client, name: &str) -> String {
    let text = String::from_utf8(client.ask(&[b"INFO"]).remove(0)).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().to_owned()
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The state of SplitMix64 that gives this output: the generator is a bijection.
fn unmix(output: u64) -> u64 {
    let unshift = |value: u64, shift: u32| (0..64 / shift).fold(value, |found, _| value ^ (found >> shift));
    let inverse =
        |factor: u64| (0..6).fold(factor, |x, _| x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x))));
    let mixed = unshift(output, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
    let mixed = unshift(mixed, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
    unshift(mixed, 30)
}

/// Sixteen hexadecimal digits as a draw, in both byte orders.
fn draws(text: &str) -> [u64; 2] {
    let number = u64::from_str_radix(&text[..16], 16).unwrap();
    [number, number.swap_bytes()]
}

/// Everything that follows from a published draw, if one generator made it and the secrets.
fn consequences(text: &str) -> BTreeSet<u64> {
    let states = draws(text).map(unmix);
    let mut found = BTreeSet::new();
    for state in states {
        // The secret can be an earlier draw, or come from a generator with the same or the inverted seed.
        for back in 0..64u64 {
            let seed = state.wrapping_sub(GOLDEN.wrapping_mul(back));
            for seed in [seed, !seed] {
                found.extend((0..64u64).map(|step| mix(seed.wrapping_add(GOLDEN.wrapping_mul(step)))));
            }
        }
    }
    found
}

#[test]
fn the_inverse_is_right() {
    for state in [0, 1, 42, u64::MAX, 0x0123_4567_89ab_cdef] {
        assert_eq!(unmix(mix(state)), state);
    }
    let next = mix(GOLDEN.wrapping_mul(2));
    assert!(consequences(&format!("{:016x}", mix(GOLDEN))).contains(&next));
}

#[test]
fn published_identifiers_reveal_no_secret() {
    let server = builder().start().unwrap();
    let mut client = Client::connect(server.addresses()[0]);
    let (run_id, history) = (info(&mut client, "run_id"), info(&mut client, "master_replid"));
    assert_eq!((run_id.len(), history.len()), (40, 40));
    assert_ne!(run_id, history);
    let mut secrets = vec![history];
    secrets.extend((0..4).map(|_| client.line("ACL GENPASS")));
    let known = consequences(&run_id);
    for secret in &secrets {
        assert!(secret.bytes().all(|digit| digit.is_ascii_hexdigit()), "{secret}");
        assert!(draws(secret).iter().all(|draw| !known.contains(draw)), "{secret} follows from {run_id}");
    }
    // As ACL GENPASS drew single digits: those of a generator whose seed was the inverse of that of the run ID.
    let seed = !unmix(draws(&run_id)[0]).wrapping_sub(GOLDEN);
    let digit = |at: u64| (u128::from(mix(seed.wrapping_add(GOLDEN.wrapping_mul(at)))) * 16) >> 64;
    let predicted: String = (5..69).map(|at| format!("{:x}", digit(at))).collect();
    assert_ne!(secrets[1], predicted);
    let other = builder().start().unwrap();
    assert_ne!(info(&mut Client::connect(other.addresses()[0]), "run_id"), run_id);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_private_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let own = directory.path().join("own");
    fs::create_dir(&own).unwrap();
    // The names that earlier versions used for files in progress.
    for name in ["appendonly.aof.new", "dump.rdb.new"] {
        symlink(&victim, own.join(name)).unwrap();
    }
    let (aof, snapshot) = (own.join("appendonly.aof"), own.join("dump.rdb"));
    let server =
        builder().append_only(AofSettings::new(&own)).snapshots(SnapshotSettings::new(&own)).start().unwrap();
    let mut client = Client::connect(server.addresses()[0]);
    client.line("SET secret 1");
    assert_eq!(mode(&aof), 0o600);
    assert_eq!(client.line("SAVE"), "OK");
    assert_eq!(mode(&snapshot), 0o600);
    assert!(client.line("BGREWRITEAOF").starts_with("Background"));
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let before = inode(&aof);
    let begin = std::time::Instant::now();
    while inode(&aof) == before {
        assert!(begin.elapsed().as_secs() < 60, "the file is not rewritten");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(mode(&aof), 0o600);
    server.stop().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert_eq!(names(&own), ["appendonly.aof", "appendonly.aof.new", "dump.rdb", "dump.rdb.new"]);

    for path in [&aof, &snapshot] {
        fs::remove_file(path).unwrap();
        symlink(&victim, path).unwrap();
    }
    let error = builder().append_only(AofSettings::new(&own)).start().err().unwrap().to_string();
    assert!(error.contains("symbolic link") && error.contains("appendonly.aof"), "{error}");
    let error = builder().snapshots(SnapshotSettings::new(&own)).start().err().unwrap().to_string();
    assert!(error.contains("symbolic link") && error.contains("dump.rdb"), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
}

#[test]
fn abandoned_files_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let abandoned = ["appendonly.aof.0123456789abcdef.tmp", "dump.rdb.0123456789abcdef.tmp"];
    let unrelated = ["appendonly.aof.0123.tmp", "dump.rdb.backup", "dump.rdb.0123456789abcdeg.tmp"];
    for name in abandoned.iter().chain(&unrelated) {
        fs::write(directory.path().join(name), "x").unwrap();
    }
    let server = builder()
        .append_only(AofSettings::new(directory.path()))
        .snapshots(SnapshotSettings::new(directory.path()))
        .start()
        .unwrap();
    assert_eq!(Client::connect(server.addresses()[0]).line("SAVE"), "OK");
    server.stop().unwrap();
    let mut expected = vec!["appendonly.aof", "dump.rdb"];
    expected.extend(unrelated);
    expected.sort_unstable();
    assert_eq!(names(directory.path()), expected);
}
