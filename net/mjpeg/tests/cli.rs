//! The subcommands `send` and `receive`.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;
#[path = "support/tool.rs"]
mod tool;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use jpeg_encoder::SamplingFactor;
use netdyno_mjpeg::core::{Jpeg, Split, Splitter};
use serde_json::Value;
use support::{picture, plain};
use tool::{Running, TIMEOUT, TOOL, free_port, receive};

/// Runs the tool and returns exit code, stdout and stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(TOOL).args(arguments).stdin(Stdio::null()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn scan(file: &[u8]) -> Vec<u8> {
    Jpeg::parse(file).unwrap().scan().to_vec()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn folder_is_sent_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (from, into) = (folder.path().join("from"), folder.path().join("into"));
    fs::create_dir(&from).unwrap();
    let pictures: Vec<_> = (0..4).map(|seed| plain(320, 240, seed)).collect();
    fs::write(from.join("1.jpg"), &pictures[0]).unwrap();
    fs::write(from.join("2.JPEG"), pictures[1..3].concat()).unwrap();
    fs::write(from.join("3.mjpeg"), &pictures[3]).unwrap();
    fs::write(from.join("not-a-picture.txt"), "hello").unwrap();
    let (sdp, from) = (folder.path().join("x.sdp"), from.to_str().unwrap());
    // The second run continues the numbering.
    for round in 0..2 {
        let (mut receiver, lines, address) = receive(&["--once", "--into", into.to_str().unwrap()]);
        let send = [
            "--json",
            "send",
            from,
            "--to",
            &address,
            "--fps",
            "50",
            "--sdp",
            sdp.to_str().unwrap(),
            "--rtcp-mux",
        ];
        let (code, stdout, stderr) = run(&send);
        assert_eq!((code, &stderr[..]), (Some(0), ""));
        let told: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        assert_eq!((&told["frames"], &told["last"]), (&4.into(), &true.into()));
        assert_eq!(told["bytes"], pictures.iter().map(Vec::len).sum::<usize>());
        assert_eq!(receiver.wait(), Some(0));
        let last = lines.last().unwrap();
        assert_eq!((&last["frames"], &last["lost_frames"]), (&4.into(), &0.into()));
        assert_eq!(last["packet_bytes"], told["packet_bytes"]);
        assert_eq!(names(&into).len(), 4 * (round + 1));
    }
    let expected: Vec<_> = (1..=8).map(|number| format!("{number:08}.jpg")).collect();
    assert_eq!(names(&into), expected);
    for (name, picture) in expected.iter().zip(pictures.iter().cycle()) {
        assert!(scan(&fs::read(into.join(name)).unwrap()) == scan(picture), "{name}");
    }
    let sdp = fs::read_to_string(sdp).unwrap();
    for line in [
        "a=rtpmap:26 JPEG/90000",
        "a=rtcp-mux",
        "a=framerate:50",
        "a=x-dimensions:320,240",
        "c=IN IP4 127.0.0.1",
    ] {
        assert!(sdp.lines().any(|told| told == line), "{line} in {sdp}");
    }
}

/// Ctrl-C ends a loop after a complete picture and a BYE.
#[test]
fn ctrl_c_stops_after_a_complete_picture() {
    let folder = tempfile::tempdir().unwrap();
    let clip = folder.path().join("clip.mjpeg");
    let pictures = [plain(1280, 720, 1), plain(1280, 720, 2)];
    fs::write(&clip, pictures.concat()).unwrap();
    let taken = fs::File::create(folder.path().join("taken")).unwrap();
    let listen = format!("127.0.0.1:{}", free_port());
    let mut receiver = Command::new(TOOL);
    receiver.args(["receive", "--listen", &listen, "--once", "--stdout", "--wait", "500"]).stdout(taken);
    let mut receiver = Running(receiver.stderr(Stdio::piped()).spawn().unwrap());
    let begin = Instant::now();
    while fs::metadata(folder.path().join("taken")).unwrap().len() == 0 {
        assert!(begin.elapsed() < TIMEOUT);
        // Repeat until the receiver is ready.
        let (code, ..) = run(&["send", clip.to_str().unwrap(), "--frames", "1", "--to", &listen]);
        assert_eq!(code, Some(0));
    }
    // Wait until its output is complete.
    assert_eq!(receiver.wait(), Some(0));

    let (mut receiver, lines, address) = receive(&["--once", "--wait", "500"]);
    let mut send =
        Running::tool(&["--json", "send", clip.to_str().unwrap(), "--loop", "--fps", "15", "--to", &address]);
    let output = BufReader::new(send.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut stats = output.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    stats.find(|stats| stats["frames"].as_u64() > Some(10)).expect("more than 10 frames are sent");
    send.interrupt();
    assert_eq!(send.wait(), Some(0));
    let sent = stats.last().unwrap();
    assert_eq!(receiver.wait(), Some(0));
    let last = lines.last().unwrap();
    assert_eq!((&last["frames"], &last["lost_frames"]), (&sent["frames"], &0.into()), "{sent} {last}");
    // Stdout contains concatenated pictures.
    let taken = fs::read(folder.path().join("taken")).unwrap();
    let (mut rest, mut picture) = (&taken[..], Vec::new());
    assert_eq!(Splitter::new(1 << 20).split(&mut rest, &mut picture), Split::Picture);
    assert!(scan(&picture) == scan(&pictures[0]));
}

#[test]
fn unsupported_pictures_are_reported_and_others_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("1.jpg");
    fs::write(&wrong, picture(320, 240, 1, SamplingFactor::R_4_4_4, None)).unwrap();
    let path = folder.path().to_str().unwrap();
    let send = ["send", path, "--to", "127.0.0.1:9", "--fps", "0"];
    let (code, stdout, stderr) = run(&send);
    assert_eq!((code, &stdout[..]), (Some(1), ""));
    assert!(stderr.contains("4:2:0") && stderr.contains("none of the pictures can be sent"), "{stderr}");
    fs::write(folder.path().join("2.jpg"), plain(320, 240, 1)).unwrap();
    let (code, _, stderr) = run(&send);
    assert_eq!((code, stderr.lines().count()), (Some(0), 1), "{stderr}");
    for (arguments, cause) in [
        (&["send", "no-such.jpg", "--to", "127.0.0.1:9"][..], "no-such.jpg"),
        (&["send", path, "--to", "nowhere"], "expected HOST:PORT"),
        (&["send", path, "--to", "127.0.0.1:9", "--packet-bytes", "100"], "300 to 65507"),
        (&["send", path, "--to", "239.1.1.1:9", "--interface", "none0"], "none0"),
        (&["receive", "--sdp", "no-such.sdp"], "no-such.sdp"),
        (&["receive", "--listen", "192.0.2.1:5004"], "192.0.2.1:5004"),
    ] {
        let (code, _, stderr) = run(arguments);
        assert!(code == Some(1) && stderr.contains(cause), "{arguments:?}: {stderr}");
    }
}

/// Sending and receiving 1080p30 needs less than 8 MB and 15 % of a core, even in a debug build.
#[test]
fn memory_and_cpu_time_are_small() {
    let folder = tempfile::tempdir().unwrap();
    let clip = folder.path().join("clip.mjpeg");
    fs::write(&clip, (0..10).map(|seed| plain(1920, 1080, seed)).collect::<Vec<_>>().concat()).unwrap();
    let (mut receiver, lines, address) = receive(&["--once"]);
    let send = Running::tool(&["send", clip.to_str().unwrap(), "--loop", "--to", &address]);
    std::thread::sleep(Duration::from_millis(500));
    let proc_file = |process: &Running, file: &str| {
        fs::read_to_string(format!("/proc/{}/{file}", process.0.id())).unwrap()
    };
    let cpu = |process: &Running| {
        let ns: u64 = proc_file(process, "schedstat").split(' ').next().unwrap().parse().unwrap();
        Duration::from_nanos(ns)
    };
    let (before, begin) = (cpu(&send), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let share = (cpu(&send) - before).as_secs_f64() / begin.elapsed().as_secs_f64();
    for process in [&send, &receiver] {
        let status = proc_file(process, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak_kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak_kib * 1024 < 8_000_000, "{peak_kib} KiB");
    }
    assert!(share < 0.15, "{share}");
    send.interrupt();
    assert_eq!(receiver.wait(), Some(0));
    assert!(lines.last().unwrap()["frames"].as_u64() > Some(60));
}

/// The limit applies to the data and not to the reported length, which is 0 for a pipe.
#[test]
fn oversized_sdp_is_not_read_completely() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.sdp");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let pipe = path.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(pipe).unwrap();
        (0..1024).take_while(|_| std::io::Write::write_all(&mut pipe, &[b'v'; 16 << 10]).is_ok()).count()
    });
    let (code, _, stderr) = run(&["receive", "--sdp", path.to_str().unwrap()]);
    assert!(code == Some(1) && stderr.contains("longer than 65536 bytes"), "{stderr}");
    let chunks = writer.join().unwrap();
    assert!(chunks < 64, "{chunks} chunks of 16 KiB were read");
}

/// Files are created under unpredictable names; links are not followed and existing files are not replaced.
#[test]
fn received_files_do_not_overwrite_others() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, into) = (folder.path().join("victim"), folder.path().join("into"));
    fs::write(&victim, "unchanged").unwrap();
    fs::create_dir(&into).unwrap();
    std::os::unix::fs::symlink(&victim, into.join(".part")).unwrap();
    let clip = folder.path().join("clip.mjpeg");
    fs::write(&clip, plain(64, 48, 1)).unwrap();
    let arguments = ["--into", into.to_str().unwrap(), "--frames", "2", "--wait", "500"];
    let (mut receiver, _lines, address) = receive(&arguments);
    // Created after the receiver has selected its first number.
    fs::write(into.join("00000001.jpg"), "unchanged").unwrap();
    let send = ["send", clip.to_str().unwrap(), "--loop", "--frames", "2", "--to", &address];
    assert_eq!(run(&send).0, Some(0));
    assert_eq!(receiver.wait(), Some(0));
    assert_eq!(fs::read(&victim).unwrap(), b"unchanged");
    assert_eq!(fs::read(into.join("00000001.jpg")).unwrap(), b"unchanged");
    assert_eq!(names(&into), [".part", "00000001.jpg", "00000002.jpg", "00000003.jpg"]);
}
