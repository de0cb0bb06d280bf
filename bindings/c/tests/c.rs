//! C programs that talk to a peer in Rust, and what C programmers are given.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::fs;
use std::process::Command;
use std::thread;

use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, Kind, Settings};
use support::{
    Library, NO_BYTES, PATIENCE, Program, built, bytes, compile, digest, folder, has, header, run,
    sanitizers, scratch,
};

const TEN_MEGABYTES: usize = 10 << 20;

struct Pair {
    program: Program,
    peer: PeerConnection,
    channel: DataChannel,
    _endpoint: Endpoint,
}

impl Pair {
    /// A C program at one end of a data channel, a peer in Rust at the other. Who offers makes the channel.
    fn connect(mut program: Program, label: &str, we_offer: bool) -> Self {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), Settings::new().unwrap()).unwrap();
        let peer = PeerConnection::new(&endpoint).unwrap();
        let channel = if we_offer {
            let channel = peer.create_channel(label, ChannelOptions::default()).unwrap();
            program.put(&peer.create_offer().unwrap());
            peer.accept_answer(&program.get()).unwrap();
            channel
        } else {
            let answer = peer.accept_offer(&program.get()).unwrap();
            program.put(&answer);
            peer.accept_channel_timeout(PATIENCE).unwrap().expect("a channel")
        };
        assert_eq!(channel.label(), label);
        Self { program, peer, channel, _endpoint: endpoint }
    }

    fn ask(&self, command: &str) {
        self.channel.send_text(command).unwrap();
    }

    fn receive(&self) -> (Kind, Vec<u8>) {
        let message = self.channel.recv_timeout(PATIENCE).unwrap().expect("a message");
        (message.kind, message.data.to_vec())
    }
}

/// 10 MB there and 10 MB back, each byte checked; a sender that is held back; statistics of both; the end.
fn everything(program: Program, we_offer: bool) {
    let mut pair = Pair::connect(program, "chat", we_offer);
    let mut hash = NO_BYTES;
    pair.ask(&format!("take {TEN_MEGABYTES}"));
    for (number, length) in [65_536, 0, 1, 1135, 262_144 - 1136].iter().cycle().enumerate().take(160) {
        let message = bytes(*length, number);
        hash = digest(hash, &message);
        pair.channel.send(&message).unwrap();
    }
    assert_eq!(pair.receive(), (Kind::Text, format!("took {TEN_MEGABYTES} {hash}").into_bytes()));

    let length = 16_384;
    let given = TEN_MEGABYTES / length;
    pair.ask(&format!("give {given} {length}"));
    for number in 0..given {
        assert!(pair.receive() == (Kind::Binary, bytes(length, number)), "message {number}");
    }

    // Nobody reads: at some point it says "not now", and all that it took until then arrives.
    pair.ask("fill");
    let told = pair.program.get();
    let full: usize = told.strip_prefix("full ").unwrap().parse().unwrap();
    assert!((1024..65_536).contains(&full), "{full} KiB");
    for _ in 0..full {
        assert!(pair.receive() == (Kind::Binary, bytes(1024, 0)));
    }
    assert_eq!(pair.channel.try_recv().unwrap(), None);

    pair.ask("stats");
    let ours = pair.channel.stats().unwrap();
    let mirrored = [ours.messages_received, ours.bytes_received, ours.messages_sent, ours.bytes_sent];
    let mirrored: Vec<_> = mirrored.iter().map(u64::to_string).collect();
    assert_eq!(pair.program.get(), format!("stats {}", mirrored.join(" ")));

    pair.ask("close");
    assert!(pair.channel.wait_closed_timeout(PATIENCE).unwrap());
    assert_eq!(pair.program.get(), "closed");
    assert!(pair.peer.wait_closed_timeout(PATIENCE).unwrap());
    pair.program.ends();
}

fn peer(library: Library, flags: &[&str], offers: &str) -> Program {
    Program::start(compile(&folder().join("tests/peer.c"), library, flags), &[offers])
}

#[test]
fn a_program_in_c_answers() {
    everything(peer(Library::Shared, &[], "answer"), true);
}

#[test]
fn a_program_in_c_offers_and_is_watched_by_sanitizers() {
    everything(peer(Library::Static, sanitizers(), "offer"), false);
}

/// Ten megabytes through a loop on poll(2) that sends back what comes, while nobody reads at first: it has to rest.
fn echo(flags: &[&str]) {
    let program = Program::start(compile(&folder().join("tests/echo.c"), Library::Static, flags), &[]);
    let mut pair = Pair::connect(program, "echo", true);
    let (length, count) = (16_384, TEN_MEGABYTES / 16_384);
    let sender = pair.channel.clone();
    thread::scope(|scope| {
        let all = scope.spawn(move || {
            for number in 0..count {
                assert!(sender.send_timeout(&bytes(length, number), PATIENCE).unwrap(), "message {number}");
            }
            sender.send_text("the last").unwrap();
        });
        // Everything on the way back is full.
        assert_eq!(pair.program.get(), "rests");
        for number in 0..count {
            assert!(pair.receive() == (Kind::Binary, bytes(length, number)), "message {number}");
        }
        assert_eq!(pair.receive(), (Kind::Text, b"the last".to_vec()));
        all.join().unwrap();
    });
    pair.channel.close();
    pair.program.ends();
}

#[test]
fn an_event_loop_in_c() {
    echo(&[]);
}

#[test]
fn an_event_loop_in_c_is_watched_by_sanitizers() {
    echo(sanitizers());
}

#[test]
fn misuse_has_its_codes() {
    let program = compile(&folder().join("tests/misuse.c"), Library::Static, sanitizers());
    run(&mut Command::new(program));
}

#[test]
fn the_header_is_up_to_date() {
    let kept = fs::read_to_string(folder().join("include/netdyno_rtc.h")).unwrap();
    assert!(
        kept == header::made(),
        "run: cargo run -p netdyno-rtc-c --example header > bindings/c/include/netdyno_rtc.h"
    );
}

/// As it would be installed; also the version, and what the static library needs beside it.
#[test]
fn the_readme_s_program_is_built_by_pkg_config_and_runs() {
    let asks = Command::new("pkg-config").arg("--version").output();
    if !has(asks.is_ok_and(|output| output.status.success()), "pkg-config") {
        return;
    }
    let prefix = scratch("prefix");
    let package = fs::read_to_string(folder().join("netdyno_rtc.pc")).unwrap();
    assert!(package.contains(&format!("\nVersion: {}\n", env!("CARGO_PKG_VERSION"))));
    for place in ["include", "lib/pkgconfig"] {
        fs::create_dir_all(prefix.join(place)).unwrap();
    }
    fs::write(prefix.join("lib/pkgconfig/netdyno_rtc.pc"), package).unwrap();
    fs::copy(folder().join("include/netdyno_rtc.h"), prefix.join("include/netdyno_rtc.h")).unwrap();
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let program = readme.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(prefix.join("hello.c"), program).unwrap();
    for (library, words) in [
        ("libnetdyno_rtc_c.so", &["--cflags", "--libs"][..]),
        ("libnetdyno_rtc_c.a", &["--static", "--cflags", "--libs"]),
    ] {
        let kept = prefix.join("lib").join(library);
        // Of a run that failed.
        let _ = fs::remove_file(&kept);
        fs::hard_link(built().join(library), &kept).unwrap();
        let mut ask = Command::new("pkg-config");
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(words).arg("netdyno_rtc");
        let flags = run(&mut ask);
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-Werror", "-o", "hello", "hello.c"]).args(flags.split_whitespace());
        run(cc.current_dir(&prefix));
        let mut hello = Command::new(prefix.join("hello"));
        assert_eq!(run(hello.env("LD_LIBRARY_PATH", prefix.join("lib"))), "got: hello\n");
        fs::remove_file(kept).unwrap();
    }
}
