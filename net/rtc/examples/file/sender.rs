//! Sends a file. The protocol on the channel, in JSON text messages: the sender announces `{"name", "bytes",
//! "sha256"}`; the receiver requests the rest with `{"offset"}`; the bytes follow in binary messages; finally
//! the receiver sends `{"ok": true}`. It may send `{"error"}` at any time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use netdyno_rtc::tokio::{DataChannel, PeerConnection};
use netdyno_rtc::{ChannelOptions, Kind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::progress::{Progress, format_bytes};
use crate::signaling::Signaling;
use crate::{Outcome, hex};

/// Bytes of a binary message.
const MESSAGE_BYTES: usize = 64 * 1024;

pub(crate) async fn send(connection: &PeerConnection, signaling: &Signaling, path: &Path) -> Outcome<()> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("the path has no file name")?;
    let with_path = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(with_path)?;
    eprintln!("reading {}", path.display());
    let (sha256, bytes) = digest(&mut file).map_err(with_path)?;

    let channel = connection.create_channel("file", ChannelOptions::default())?;
    let answer = signaling.offer(&connection.create_offer()?).await?;
    connection.accept_answer(&answer)?;
    channel.send_text(&json!({"name": name, "bytes": bytes, "sha256": sha256}).to_string()).await?;
    let reply = receive_json(&channel).await?;
    let offset = reply["offset"]
        .as_u64()
        .filter(|&offset| offset <= bytes)
        .ok_or("unexpected reply from the receiver")?;
    eprintln!("{name}: {}, from byte {offset}", format_bytes(bytes as f64));

    file.seek(SeekFrom::Start(offset))?;
    let (mut progress, mut sent) = (Progress::new(offset, bytes), offset);
    let mut buffer = vec![0; MESSAGE_BYTES];
    while sent < bytes {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Err("the file was truncated".into());
        }
        tokio::select! {
            sending = channel.send(&buffer[..length]) => sending?,
            // The receiver replies here only if it cannot continue.
            complaint = receive_json(&channel) => {
                complaint?;
                return Err("the receiver has stopped the transfer".into());
            }
        }
        sent += length as u64;
        progress.update(sent);
    }
    match receive_json(&channel).await?["ok"].as_bool() {
        Some(true) => eprintln!("\ncomplete, digest verified by the receiver"),
        _ => return Err("unexpected reply from the receiver".into()),
    }
    Ok(())
}

/// The next JSON text of the other side; an `{"error"}` becomes an error.
pub(crate) async fn receive_json(channel: &DataChannel) -> Outcome<Value> {
    let message = channel.recv().await?;
    if message.kind != Kind::Text {
        return Err("expected a text message, received a binary one".into());
    }
    let value: Value = serde_json::from_slice(&message.data)?;
    match value["error"].as_str() {
        Some(error) => Err(format!("the other side: {error}").into()),
        None => Ok(value),
    }
}

fn digest(file: &mut File) -> std::io::Result<(String, u64)> {
    let (mut sha256, mut total) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok((hex(sha256), total));
        }
        sha256.update(&buffer[..length]);
        total += length as u64;
    }
}
