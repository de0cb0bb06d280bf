//! The tool with its sources and the web page.
#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(all(feature = "cli", feature = "pattern", target_os = "linux"))]

#[path = "support/pictures.rs"]
mod pictures;
#[path = "support/tool.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::{Event, Jpeg};
use netdyno_mjpeg::{Receiver, ReceiverConfig};
use pictures::pictures;
use rustix::process::{Pid, test_kill_process};
use support::{Running, TIMEOUT, TOOL};

fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(TOOL);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A receiver and its address.
fn receiver() -> (Receiver, String) {
    let receiver = Receiver::open("127.0.0.1:0".parse().unwrap(), &ReceiverConfig::default()).unwrap();
    let address = receiver.local_address().to_string();
    (receiver, address)
}

/// The scan of the next complete frame.
fn scan(receiver: &mut Receiver) -> Vec<u8> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match receiver.next(deadline).unwrap() {
            Some(Event::Frame(frame)) => return frame.scan().to_vec(),
            _ => assert!(Instant::now() < deadline, "no frame came"),
        }
    }
}

fn failure(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = tool(arguments).output().unwrap();
    assert_eq!(status.code(), Some(1));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn stdin_and_commands_are_sources() {
    let (folder, expected) = (tempfile::tempdir().unwrap(), pictures(3));
    let path = folder.path().join("three.mjpeg");
    fs::write(&path, expected.concat()).unwrap();
    let command = format!("exec:cat '{}'", path.display());
    for source in ["-", &command] {
        let (mut receiver, address) = receiver();
        let mut process = tool(&["send", source, "--to", &address]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        if source == "-" {
            stdin.write_all(&expected.concat()).unwrap();
        }
        drop(stdin);
        for file in &expected {
            assert!(scan(&mut receiver) == Jpeg::parse(file).unwrap().scan(), "{source}");
        }
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn invalid_sources_are_reported() {
    let to = ["--to", "127.0.0.1:9"];
    let text = failure(&["send", "exec:echo gone >&2; exit 4", to[0], to[1]]);
    assert!(text.contains("the command failed with exit status: 4; its stderr:\ngone"), "{text}");
    let text = failure(&["send", "-", to[0], to[1]]);
    assert!(text.contains("stdin: the stream ended without a JPEG picture"), "{text}");
    if cfg!(feature = "camera") {
        let text = failure(&["send", "camera:/dev/no-camera", to[0], to[1]]);
        assert!(text.contains("/dev/no-camera: no such camera; "), "{text}");
    }
    let text = failure(&["send", "no-such-file.jpg", to[0], to[1]]);
    assert!(text.contains("no-such-file.jpg: No such file"), "{text}");
    let wrong_size = tool(&["send", "pattern", "--size", "0x7", to[0], to[1]]).output().unwrap();
    assert_eq!(wrong_size.status.code(), Some(2));
}

#[test]
fn command_ends_on_ctrl_c() {
    for verb in [&["send", "--to", "127.0.0.1:9"], &["serve", "--listen", "127.0.0.1:0"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("process");
        let source = format!("exec:sleep 1000 & echo $! > '{}'; wait", path.display());
        let mut process = Running(tool(&[&verb[..], &[&source]].concat()).spawn().unwrap());
        let begin = Instant::now();
        let sleeper = loop {
            assert!(begin.elapsed() < TIMEOUT, "{verb:?}: it does not begin");
            match fs::read_to_string(&path) {
                Ok(text) if text.ends_with('\n') => {
                    break Pid::from_raw(text.trim().parse().unwrap()).unwrap();
                }
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        process.interrupt();
        assert_eq!(process.wait(), Some(0), "{verb:?}");
        // A new parent may need time to reap the process.
        while test_kill_process(sleeper).is_ok() && !is_waiting_for_its_end(sleeper) {
            assert!(begin.elapsed() < TIMEOUT, "{verb:?}: what the command began is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn is_waiting_for_its_end(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    status.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

#[test]
fn server_prints_its_url() {
    // The first picture of a small size is available soon; until then, DESCRIBE fails with 503.
    let arguments = ["--json", "serve", "pattern", "--size", "320x240", "--listen", "127.0.0.1:0"];
    let mut serve = Running(tool(&arguments).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(serve.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = line["serves"].as_str().unwrap();
    let address = url.strip_prefix("rtsp://").unwrap().split_once('/').unwrap().0;
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(client, "DESCRIBE {url} RTSP/1.0\r\nCSeq: 7\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("a=x-dimensions:") {
        let mut part = [0; 1024];
        let bytes = client.read(&mut part).unwrap();
        assert_ne!(bytes, 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend(&part[..bytes]);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("RTSP/1.0 200 ") && answer.contains("CSeq: 7\r\n"), "{answer}");
    serve.interrupt();
    assert_eq!(serve.wait(), Some(0));
}

#[test]
fn web_page_shows_received_frames() {
    let arguments = ["--json", "receive", "--listen", "127.0.0.1:0", "--web", "0"];
    let mut receive = Running(tool(&arguments).spawn().unwrap());
    let mut out = BufReader::new(receive.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let listening: serde_json::Value = serde_json::from_str(&out.next().unwrap()).unwrap();
    let listen = listening["listening"].as_str().unwrap();
    let mut line = String::new();
    BufReader::new(receive.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("netdyno-mjpeg: web page: http://").and_then(|rest| rest.strip_suffix('/'));
    let address = address.unwrap_or_else(|| panic!("{line}"));
    let _send = Running(tool(&["send", "pattern", "--size", "320x240", "--to", listen]).spawn().unwrap());

    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET /statistics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut told = || -> serde_json::Value {
        let line = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let first = loop {
        // The CNAME arrives with the first report.
        let told = told();
        if told["frames"].as_u64() > Some(0) && told["sender"] != "" {
            break told;
        }
    };
    assert_eq!((&first["width"], &first["height"]), (&320.into(), &240.into()));
    while told()["frames"].as_u64() <= first["frames"].as_u64() {}

    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(stream, "GET /pictures HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut begin = [0; 4096];
    stream.read_exact(&mut begin).unwrap();
    assert!(begin.windows(3).any(|bytes| bytes == [0xff, 0xd8, 0xff]));

    receive.interrupt();
    assert_eq!(receive.wait(), Some(0));
}
