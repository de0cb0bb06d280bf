//! Sends a file. What is said on the channel, in texts of JSON: the sender announces `{"name", "bytes", "sha256"}`;
//! the receiver asks for the rest by `{"offset"}`; then the bytes, in binary messages; in the end the receiver says
//! `{"ok": true}`, or `{"error"}` at any time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use netdyno_rtc::tokio::{DataChannel, PeerConnection};
use netdyno_rtc::{ChannelOptions, Kind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::progress::{Progress, shown};
use crate::signaling::Signaling;
use crate::{Outcome, hex};

/// Bytes of one message.
const MESSAGE_BYTES: usize = 64 * 1024;

pub(crate) async fn send(connection: &PeerConnection, signaling: &Signaling, path: &Path) -> Outcome<()> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("this has no name")?;
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(told)?;
    eprintln!("reading {}", path.display());
    let (sha256, bytes) = digest(&mut file).map_err(told)?;

    let channel = connection.create_channel("file", ChannelOptions::default())?;
    let answer = signaling.offer(&connection.create_offer()?).await?;
    connection.accept_answer(&answer)?;
    channel.send_text(&json!({"name": name, "bytes": bytes, "sha256": sha256}).to_string()).await?;
    let reply = hear(&channel).await?;
    let offset =
        reply["offset"].as_u64().filter(|&offset| offset <= bytes).ok_or("not the answer of a receiver")?;
    eprintln!("{name}: {}, from byte {offset}", shown(bytes as f64));

    file.seek(SeekFrom::Start(offset))?;
    let (mut progress, mut sent) = (Progress::new(offset, bytes), offset);
    let mut buffer = vec![0; MESSAGE_BYTES];
    while sent < bytes {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Err("the file has become shorter".into());
        }
        tokio::select! {
            sending = channel.send(&buffer[..length]) => sending?,
            // The receiver says something only if it cannot go on.
            complaint = hear(&channel) => {
                complaint?;
                return Err("the receiver has stopped".into());
            }
        }
        sent += length as u64;
        progress.tell(sent);
    }
    match hear(&channel).await?["ok"].as_bool() {
        Some(true) => eprintln!("\nall has arrived, and is right"),
        _ => return Err("not the answer of a receiver".into()),
    }
    Ok(())
}

/// The next text of the other side; an error if that is what it tells.
pub(crate) async fn hear(channel: &DataChannel) -> Outcome<Value> {
    let message = channel.recv().await?;
    if message.kind != Kind::Text {
        return Err("bytes where a text should be".into());
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
