//! The page of the tool in Chromium, with pictures from other programs: the same pixels as when Chromium decodes the sent file.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::browser::Browser;
use super::tool::{Running, receive, skip};

/// A program that sends pictures; all pictures of one row are the same.
struct Row {
    name: &'static str,
    /// The programs that it needs, each with an option that only prints something.
    needs: &'static [(&'static str, &'static str)],
    /// Creates `file`, in a shell.
    file: &'static str,
    /// Sends the picture to `127.0.0.1:port` until it is killed.
    send: &'static str,
    /// The part of the picture that is compared.
    compared: (u16, u16),
}

const CONVERT: (&str, &str) = ("convert", "-version");
const CJPEG: (&str, &str) = ("cjpeg", "-version");
/// Our sender, which accepts a file; FFmpeg and GStreamer only send what they encode themselves.
const OURS: &str = "exec $tool send $file --loop --to 127.0.0.1:$port";
const WHOLE: (u16, u16) = (320, 240);

const ROWS: [Row; 7] = [
    Row {
        name: "4:2:0 of ImageMagick",
        needs: &[CONVERT],
        file: "convert -seed 7 -size 320x240 plasma: -sampling-factor 2x2 -define jpeg:optimize-coding=false jpeg:$file",
        send: OURS,
        compared: WHOLE,
    },
    Row {
        name: "4:2:2 of ImageMagick",
        needs: &[CONVERT],
        file: "convert -seed 7 -size 320x240 plasma: -sampling-factor 2x1 -define jpeg:optimize-coding=false jpeg:$file",
        send: OURS,
        compared: WHOLE,
    },
    // The size is sent in units of 8 pixels: blocks that both sizes contain are compared.
    Row {
        name: "17x33 of ImageMagick",
        needs: &[CONVERT],
        file: "convert -seed 7 -size 17x33 plasma: -sampling-factor 2x2 -define jpeg:optimize-coding=false jpeg:$file",
        send: OURS,
        compared: (16, 32),
    },
    Row {
        name: "restart intervals of rows by cjpeg",
        needs: &[CONVERT, CJPEG],
        file: "convert -seed 7 -size 320x240 plasma: ppm:- | cjpeg -quality 85 -restart 1 >$file",
        send: OURS,
        compared: WHOLE,
    },
    Row {
        name: "restart intervals of 7 blocks by cjpeg",
        needs: &[CONVERT, CJPEG],
        file: "convert -seed 7 -size 320x240 plasma: ppm:- | cjpeg -quality 85 -restart 7B >$file",
        send: OURS,
        compared: WHOLE,
    },
    Row {
        name: "FFmpeg's sender",
        needs: &[("ffmpeg", "-version")],
        file: "ffmpeg -y -v error -f lavfi -i smptebars=s=320x240:r=25 -frames:v 1 $encoder -f mjpeg $file",
        send: "exec ffmpeg -v error -re -f lavfi -i smptebars=s=320x240:r=25 $encoder -f rtp rtp://127.0.0.1:$port",
        compared: WHOLE,
    },
    Row {
        name: "GStreamer's sender",
        needs: &[("gst-launch-1.0", "--version")],
        file: "gst-launch-1.0 -q videotestsrc num-buffers=1 pattern=smpte75 ! $caps ! jpegenc ! filesink location=$file",
        send: "exec gst-launch-1.0 -q videotestsrc is-live=true pattern=smpte75 ! $caps ! jpegenc ! rtpjpegpay \
            ! udpsink host=127.0.0.1 port=$port",
        compared: WHOLE,
    },
];

/// Options of the encoders, the same for the file and the stream.
const SETTINGS: [(&str, &str); 2] = [
    (
        "encoder",
        "-c:v mjpeg -huffman default -force_duplicated_matrix 1 -qmin 4 -qmax 4 -q:v 4 -pix_fmt yuvj420p -bitexact",
    ),
    ("caps", "video/x-raw,format=I420,width=320,height=240,framerate=25/1"),
];

/// A checksum of the upper left part of an image.
fn checksum(image: &str, (width, height): (u16, u16)) -> String {
    format!(
        "(async () => {{
            const canvas = new OffscreenCanvas({width}, {height}), context = canvas.getContext('2d')
            context.drawImage({image}, 0, 0)
            const {{ data }} = context.getImageData(0, 0, {width}, {height})
            return data.reduce((sum, value, index) => (sum + value * (index % 65_521)) % 1e12, 0)
        }})()"
    )
}

fn has(programs: &[(&str, &str)]) -> bool {
    let is_missing = |&&(program, option): &&(&str, &str)| {
        let status = Command::new(program).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !status.is_ok_and(|status| status.success())
    };
    let missing = programs.iter().find(is_missing);
    if let Some((program, _)) = missing {
        skip(program);
    }
    missing.is_none()
}

fn shell(script: &str, file: &Path, port: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .env("file", file)
        .env("port", port)
        .env("tool", super::tool::TOOL)
        .envs(SETTINGS);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn check(row: &Row, browser: &mut Browser, folder: &Path) {
    let file: PathBuf = folder.join("picture.jpg");
    assert!(shell(row.file, &file, "").status().unwrap().success(), "{}", row.name);
    browser.call("Page.navigate", json!({ "url": "about:blank" }));
    browser.wait_until("location.href === 'about:blank'", || {});
    let bytes = json!(fs::read(&file).unwrap());
    let decoded =
        format!("await createImageBitmap(new Blob([new Uint8Array({bytes})], {{ type: 'image/jpeg' }}))");
    let expected = browser.evaluate(&checksum(&decoded, row.compared));
    assert!(expected.as_f64().is_some_and(|sum| sum > 0.0), "{}: {expected}", row.name);

    let web = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_receiver, _lines, address) = receive(&["--web", &web.to_string()]);
    let _sender = Running(shell(row.send, &file, address.rsplit(':').next().unwrap()).spawn().unwrap());
    browser.call("Page.navigate", json!({ "url": format!("http://{web}/") }));
    browser.wait_until("document.getElementById('picture')?.naturalWidth > 0", || {});
    let shown = checksum("document.getElementById('picture')", row.compared);
    browser.wait_until(&format!("{shown}.then(sum => sum === {expected})"), || {});
    println!("ok: {}", row.name);
}

#[test]
fn pictures_of_other_programs_are_shown() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    for row in ROWS.iter().filter(|row| has(row.needs)) {
        check(row, &mut browser, folder.path());
    }
}
