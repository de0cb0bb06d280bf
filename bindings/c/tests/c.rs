//! C programs that talk to a peer in Rust; the header and the installed files.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../net/rtc/tests/support/coturn.rs"]
mod coturn;
mod support;

use std::fs;
use std::process::Command;
use std::thread;

use coturn::Coturn;
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
    /// A C program at one end of a data channel, a peer in Rust at the other. The offering side creates the channel.
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

/// 10 MB in each direction, each byte checked; backpressure; statistics of both ends; closing.
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

    // Without a reader, sending eventually returns ND_NOT_NOW; everything accepted before is delivered.
    pair.ask("fill");
    let message = pair.program.get();
    let full: usize = message.strip_prefix("full ").unwrap().parse().unwrap();
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

fn peer(library: Library, flags: &[&str], arguments: &[&str]) -> Program {
    Program::start(compile(&folder().join("tests/peer.c"), library, flags), arguments)
}

#[test]
fn a_program_in_c_answers() {
    everything(peer(Library::Shared, &[], &["answer"]), true);
}

#[test]
fn a_c_program_offers_under_sanitizers() {
    everything(peer(Library::Static, sanitizers(), &["offer"]), false);
}

#[test]
fn a_c_program_connects_only_by_a_turn_server() {
    for by in ["udp", "tls"] {
        let Some(server) = Coturn::start(&[]) else { return };
        let arguments = ["answer", &server.url(by), &server.authority];
        everything(peer(Library::Static, sanitizers(), &arguments), true);
        assert!(server.logs("lifetime=0"), "the allocation is given back");
    }
}

#[test]
fn a_c_program_gets_the_failure_of_a_server() {
    let Some(server) = Coturn::start(&[]) else { return };
    let (another, ..) = coturn::certified(&["127.0.0.1"]);
    let url = server.url("tls");
    let mut program = peer(Library::Static, sanitizers(), &["refused", &url, &another]);
    let message = program.get();
    assert!(message.starts_with(&url) && message.contains("`server_roots`"), "{message}");
    program.ends();
}

/// 10 MB through an echo in a poll(2) loop whose output is not read at first: it must pause.
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
        // All buffers of the return path are full.
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
fn a_c_event_loop_under_sanitizers() {
    echo(sanitizers());
}

#[test]
fn misuse_returns_error_codes() {
    let program = compile(&folder().join("tests/misuse.c"), Library::Static, sanitizers());
    run(&mut Command::new(program));
}

#[test]
fn the_header_is_up_to_date() {
    let kept = fs::read_to_string(folder().join("include/netdyno_rtc.h")).unwrap();
    assert!(
        kept == header::generate(),
        "run: cargo run -p netdyno-rtc-c --example header > bindings/c/include/netdyno_rtc.h"
    );
}

#[test]
fn code_blocks_of_the_readme_compile() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let blocks: Vec<_> =
        readme.split("```c\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [whole, ways, statistics] = blocks[..] else { panic!("{} programs", blocks.len()) };
    let before = whole.split("int main").next().unwrap();
    let source = scratch("pieces").join("pieces.c");
    let pieces = format!(
        "{before}nd_code bind(nd_endpoint **to);\nvoid statistics(const nd_peer *peer);\n\
         nd_code bind(nd_endpoint **to) {{ {ways} return nd_endpoint_bind(\"0.0.0.0:0\", 9, &settings, to); }}\n\
         void statistics(const nd_peer *peer) {{ {statistics} }}\n\
         int main(void) {{ return PATIENCE_MS == 0; }}"
    );
    fs::write(&source, pieces).unwrap();
    fs::remove_file(compile(&source, Library::Shared, &[])).unwrap();
}

/// The functions that the header declares.
fn declared() -> Vec<String> {
    let header = fs::read_to_string(folder().join("include/netdyno_rtc.h")).unwrap();
    let words = header.lines().filter(|line| !line.starts_with("//") && !line.starts_with(' '));
    let mut names: Vec<_> = words
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("nd_"))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn installed_files_work_with_pkg_config_and_symbol_versions() {
    let has_program = |name: &str| {
        let asks = Command::new(name).arg("--version").output();
        has(asks.is_ok_and(|output| output.status.success()), name)
    };
    if !cfg!(target_os = "linux") || !has_program("pkg-config") || !has_program("readelf") {
        return;
    }
    let package = fs::read_to_string(folder().join("netdyno_rtc.pc")).unwrap();
    assert!(package.contains(&format!("\nVersion: {}\n", env!("CARGO_PKG_VERSION"))));
    let prefix = scratch("prefix");
    let mut install = Command::new(folder().join("install"));
    install.arg("--prefix").arg(&prefix).arg("--archive").arg(built().join("libnetdyno_rtc_c.a"));
    run(&mut install);

    // A program needs the SONAME and the versions of the symbols it calls; no other symbol is exported.
    let shared = prefix.join("lib/libnetdyno_rtc_c.so.0");
    assert!(run(Command::new("readelf").arg("-dW").arg(&shared)).contains("soname: [libnetdyno_rtc_c.so.0]"));
    let symbols = run(Command::new("readelf").args(["-W", "--dyn-syms"]).arg(&shared));
    let mut seen: Vec<_> = symbols
        .lines()
        .filter_map(|line| line.split_once("GLOBAL DEFAULT")?.1.trim().split_once(' '))
        .filter(|(section, name)| !["UND", "ABS"].contains(section) && !name.is_empty())
        .map(|(_, name)| name.trim().strip_suffix("@@NETDYNO_RTC_0.1").expect(name).to_owned())
        .collect();
    seen.sort();
    assert_eq!(seen, declared());

    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let program = readme.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(prefix.join("hello.c"), program).unwrap();
    for words in [&["--cflags", "--libs"][..], &["--static", "--cflags", "--libs"]] {
        let mut ask = Command::new("pkg-config");
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(words).arg("netdyno_rtc");
        let flags = run(&mut ask);
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-Werror", "-o", "hello", "hello.c"]).args(flags.split_whitespace());
        run(cc.current_dir(&prefix));
        let mut hello = Command::new(prefix.join("hello"));
        assert_eq!(run(hello.env("LD_LIBRARY_PATH", prefix.join("lib"))), "got: hello\n");
        // The linker falls back to the static library.
        for name in [
            "libnetdyno_rtc_c.so",
            "libnetdyno_rtc_c.so.0",
            concat!("libnetdyno_rtc_c.so.", env!("CARGO_PKG_VERSION")),
        ] {
            let _ = fs::remove_file(prefix.join("lib").join(name));
        }
    }
    fs::remove_dir_all(prefix).unwrap();
}
