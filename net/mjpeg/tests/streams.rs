//! Sources: pipes, files and child processes.
#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(feature = "pattern")]

#[path = "support/pictures.rs"]
mod pictures;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

use netdyno_mjpeg::source::{Files, Next, SOURCE_WAIT, Source, SourceError, StreamSource, Timing};
use pictures::pictures;

/// Bounds a test if a source hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Reads all pictures up to the end or an error.
#[track_caller]
fn all(source: &mut dyn Source) -> (Vec<Vec<u8>>, Option<SourceError>) {
    let (mut pictures, mut picture, begin) = (Vec::new(), Vec::new(), Instant::now());
    loop {
        match source.next(&mut picture) {
            Ok(Next::Picture) => pictures.push(picture.clone()),
            Ok(Next::Pending) => assert!(begin.elapsed() < TIMEOUT, "the source does not end"),
            Ok(Next::End) => return (pictures, None),
            Err(error) => return (pictures, Some(error)),
        }
    }
}

/// The message of the error; there must be no picture.
#[track_caller]
fn error_text(source: &mut dyn Source) -> String {
    let (pictures, error) = all(source);
    assert!(pictures.is_empty());
    let text = error.expect("it is refused").to_string();
    let mut picture = Vec::new();
    assert_eq!(source.next(&mut picture).unwrap(), Next::End, "an error is reported once");
    text
}

fn pipe() -> (OwnedFd, File) {
    let (read, write) = std::io::pipe().unwrap();
    (read.into(), OwnedFd::from(write).into())
}

#[test]
fn pipe_provides_pictures_on_arrival() {
    let expected = pictures(3);
    let (read, mut write) = pipe();
    let mut source = StreamSource::new("a pipe", read);
    assert_eq!(source.timing(), Timing::Live);
    let mut picture = vec![7];
    let begin = Instant::now();
    assert_eq!(source.next(&mut picture).unwrap(), Next::Pending);
    assert!(picture.is_empty() && begin.elapsed() >= SOURCE_WAIT);
    // A picture in two writes with a pause.
    write.write_all(&expected[0][..1000]).unwrap();
    assert_eq!(source.next(&mut picture).unwrap(), Next::Pending);
    write.write_all(&expected[0][1000..]).unwrap();
    assert_eq!(source.next(&mut picture).unwrap(), Next::Picture);
    assert_eq!(picture, expected[0]);
    // Two pictures at once, the second after multipart headers.
    let part = b"\r\n--it\r\nContent-Type: image/jpeg\r\n\r\n";
    write.write_all(&[part, &expected[1][..], &expected[2]].concat()).unwrap();
    drop(write);
    let (rest, error) = all(&mut source);
    assert!(error.is_none() && rest == expected[1..]);
    assert_eq!(source.next(&mut picture).unwrap(), Next::End);
}

#[test]
fn named_pipe_waits_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut source = StreamSource::open(&path).unwrap();
    let mut picture = Vec::new();
    assert_eq!(source.next(&mut picture).unwrap(), Next::Pending, "no writer yet");
    let expected = pictures(2);
    let mut write = File::options().write(true).open(&path).unwrap();
    assert_eq!(source.next(&mut picture).unwrap(), Next::Pending);
    write.write_all(&expected.concat()).unwrap();
    drop(write);
    assert_eq!(all(&mut source).0, expected);
}

#[test]
fn streams_without_pictures_are_reported() {
    let (read, mut write) = pipe();
    write.write_all(b"no picture at all").unwrap();
    drop(write);
    let text = error_text(&mut StreamSource::new("a pipe", read));
    assert_eq!(text, "a pipe: the stream ended without a JPEG picture");

    let mut source = StreamSource::open("/dev/zero".as_ref()).unwrap();
    let (pictures, error) = all(&mut source);
    assert!(pictures.is_empty());
    assert_eq!(
        error.unwrap().to_string(),
        "/dev/zero: 64 MiB without a JPEG picture; check that the stream is Motion JPEG"
    );
    // Further calls are possible and return in time.
    let begin = Instant::now();
    assert!(!matches!(source.next(&mut Vec::new()), Ok(Next::Picture | Next::End)));
    assert!(begin.elapsed() < TIMEOUT);
}

#[test]
fn command_provides_pictures() {
    let (folder, expected) = (tempfile::tempdir().unwrap(), pictures(3));
    let path = folder.path().join("three.mjpeg");
    fs::write(&path, expected.concat()).unwrap();
    let mut source = StreamSource::command(&format!("cat '{0}' '{0}'", path.display())).unwrap();
    let (found, error) = all(&mut source);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found, [&expected[..], &expected].concat());
    assert_eq!(source.with_timing(Timing::OnDemand).timing(), Timing::OnDemand);
}

#[test]
fn failed_command_is_reported_with_its_stderr() {
    let text = error_text(&mut StreamSource::command("echo 'no such \x1b[31mcamera' >&2; exit 3").unwrap());
    assert_eq!(
        text,
        "exec:echo 'no such \x1b[31mcamera' >&2; exit 3: the command failed with exit status: 3; its stderr:\nno such [31mcamera"
    );
    let text = error_text(&mut StreamSource::command("exec /nowhere/to/be/found").unwrap());
    assert!(text.contains("exit status: 127") && text.contains("not found"), "{text}");
    // Stderr exceeds the stored length and the capacity of a pipe.
    let text = error_text(
        &mut StreamSource::command("head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2; kill -9 $$")
            .unwrap(),
    );
    assert!(text.contains("signal: 9") && text.ends_with("xxxend") && text.len() < 3000, "{text}");
    // Pictures are delivered before the failure.
    let (folder, expected) = (tempfile::tempdir().unwrap(), pictures(1));
    fs::write(folder.path().join("one"), &expected[0]).unwrap();
    let mut source = StreamSource::command(&format!("cat {}/one; false", folder.path().display())).unwrap();
    let (found, error) = all(&mut source);
    assert_eq!(found, expected);
    assert!(error.unwrap().to_string().ends_with("the command failed with exit status: 1"));
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn command_ends_with_the_source() {
    for command in [
        "echo $$ > PATH; exec sleep 1000",
        "sleep 1000 & echo $! > PATH; wait",
        "trap '' TERM; (sleep 1000; sleep 1000) & echo $! > PATH; while :; do sleep 1; done",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("process");
        let command = command.replace("PATH", path.to_str().unwrap());
        let mut source = StreamSource::command(&command).unwrap();
        let begin = Instant::now();
        let process = loop {
            assert_eq!(source.next(&mut Vec::new()).unwrap(), Next::Pending);
            match fs::read_to_string(&path) {
                Ok(process) if process.ends_with('\n') => break process,
                _ => assert!(begin.elapsed() < TIMEOUT),
            }
        };
        assert!(is_alive(&process), "{command}");
        drop(source);
        while is_alive(&process) {
            assert!(begin.elapsed() < TIMEOUT, "{command}: {process} is alive");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn gstreamer_pipeline_provides_pictures() {
    let is_there =
        Command::new("gst-launch-1.0").arg("--version").output().is_ok_and(|out| out.status.success());
    if !is_there {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "gst-launch-1.0 is not installed");
        println!("skipped: needs gst-launch-1.0");
        return;
    }
    let pipeline = "videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=320,height=240 ! jpegenc";
    let (found, error) = all(&mut StreamSource::gstreamer(pipeline).unwrap());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.len(), 5);
    for file in &found {
        let jpeg = netdyno_mjpeg::core::Jpeg::parse(file).unwrap();
        assert_eq!((jpeg.width(), jpeg.height()), (320, 240));
    }
    let text = error_text(&mut StreamSource::gstreamer("nosuchelement").unwrap());
    assert!(
        text.starts_with("gstreamer:nosuchelement: the command failed with")
            && text.contains("nosuchelement\""),
        "{text}"
    );
}

#[test]
fn files_are_read_in_order_and_repeated() {
    let (folder, expected) = (tempfile::tempdir().unwrap(), pictures(4));
    let path = |name: &str| folder.path().join(name);
    fs::write(path("b.jpg"), &expected[2]).unwrap();
    fs::write(path("a.mjpeg"), expected[..2].concat()).unwrap();
    fs::write(path("c.JPEG"), &expected[3]).unwrap();
    fs::write(path("d.txt"), "not looked at").unwrap();
    let mut files = Files::open(&[folder.path().to_owned()], false).unwrap();
    assert_eq!(files.timing(), Timing::OnDemand);
    assert_eq!(all(&mut files).0, expected);

    // Repetition of several files and of one file.
    for paths in [vec![folder.path().to_owned()], vec![path("a.mjpeg")]] {
        let (mut files, mut picture) = (Files::open(&paths, true).unwrap(), Vec::new());
        let count = if paths[0].is_dir() { 4 } else { 2 };
        for index in 0..10 {
            assert_eq!(files.next(&mut picture).unwrap(), Next::Picture);
            assert_eq!(picture, expected[index % count]);
        }
    }

    // Files without a picture or that no longer exist are reported; the others are read.
    let mut files = Files::open(&[path("d.txt"), path("c.JPEG"), path("b.jpg")], false).unwrap();
    fs::remove_file(path("c.JPEG")).unwrap();
    let (none, error) = all(&mut files);
    assert!(none.is_empty());
    assert!(
        error.unwrap().to_string().ends_with("d.txt: contains no JPEG picture; remove it from the arguments")
    );
    assert!(all(&mut files).1.unwrap().to_string().contains("c.JPEG: No such file"));
    assert_eq!(all(&mut files).0, expected[2..3]);
}

#[test]
fn repetition_without_pictures_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.jpg");
    fs::write(&path, "").unwrap();
    let mut files = Files::open(&[path], true).unwrap();
    assert!(error_text(&mut files).ends_with("contains no JPEG picture; remove it from the arguments"));
}
