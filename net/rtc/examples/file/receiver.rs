//! Receives a file into a partial file, verifies it and renames it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use netdyno_rtc::Kind;
use netdyno_rtc::tokio::{DataChannel, PeerConnection};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::progress::{Progress, format_bytes};
use crate::sender::receive_json;
use crate::signaling::Signaling;
use crate::{Outcome, hex};

/// Limit of a file name in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Digits of the digest in the name of a partial file, to distinguish files of one name.
const DIGITS: usize = 16;

pub(crate) async fn receive(connection: &PeerConnection, signaling: &Signaling, into: &Path) -> Outcome<()> {
    let offer = signaling.wait_for_offer().await?;
    signaling.answer(&connection.accept_offer(&offer)?)?;
    let channel = connection.accept_channel().await?;
    let announced = Announced::read(&receive_json(&channel).await?)?;
    let received = take(&channel, &announced, into).await;
    let verdict = match &received {
        Ok(()) => json!({"ok": true}),
        Err(error) => json!({"error": error.to_string()}),
    };
    channel.send_text(&verdict.to_string()).await?;
    // Closed means that the verdict was delivered. A sender that is gone does not need it.
    channel.close();
    let _ = channel.wait_closed().await;
    received
}

/// The announcement of a file by the sender.
#[derive(Debug)]
struct Announced {
    name: String,
    bytes: u64,
    sha256: String,
}

impl Announced {
    fn read(value: &Value) -> Outcome<Self> {
        let text = |key: &str| value[key].as_str().ok_or(format!("the announcement lacks {key}"));
        let (name, sha256) = (text("name")?, text("sha256")?);
        let bytes = value["bytes"].as_u64().ok_or("the announcement lacks bytes")?;
        // Only a plain name, so that the file is created in the target directory.
        let is_plain = !name.is_empty()
            && name.len() <= MAX_NAME_BYTES
            && !name.starts_with('.')
            && !name.contains(|c: char| c.is_control() || "/\\:".contains(c));
        if !is_plain {
            return Err("the announced file name is not allowed".into());
        }
        if sha256.len() != 64 || !sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("the announced digest is invalid".into());
        }
        Ok(Self { name: name.to_owned(), bytes, sha256: sha256.to_ascii_lowercase() })
    }
}

async fn take(channel: &DataChannel, announced: &Announced, into: &Path) -> Outcome<()> {
    let Announced { name, bytes, sha256 } = announced;
    let place = into.join(name);
    if place.try_exists()? {
        return Err(format!("{} already exists", place.display()).into());
    }
    let part = into.join(format!("{name}.{}.part", &sha256[..DIGITS]));
    // Hashing a long partial file must not block the connection.
    let path = part.clone();
    let (mut file, mut digest, offset) = tokio::task::spawn_blocking(move || resume(&path)).await??;
    if offset > *bytes {
        return Err(format!("{} is longer than the announced file", part.display()).into());
    }
    eprintln!("{name}: {}, from byte {offset}", format_bytes(*bytes as f64));
    channel.send_text(&json!({"offset": offset}).to_string()).await?;

    let (mut progress, mut received, mut messages) = (Progress::new(offset, *bytes), offset, Vec::new());
    progress.update(received);
    while received < *bytes {
        channel.recv_many(&mut messages, 64).await?;
        for message in messages.drain(..) {
            received += message.data.len() as u64;
            if message.kind != Kind::Binary || received > *bytes {
                return Err("the sender does not send what it announced".into());
            }
            digest.update(&message.data);
            file.write_all(&message.data)?;
        }
        progress.update(received);
    }
    file.sync_all()?;
    if hex(digest) != *sha256 {
        // The partial file is useless.
        fs::remove_file(&part)?;
        return Err("the digest differs from the announced one; send the whole file again".into());
    }
    fs::rename(&part, &place)?;
    eprintln!("\n{}: complete, digest verified", place.display());
    Ok(())
}

/// Opens the partial file of an earlier transfer for appending; returns its digest state and length too.
fn resume(part: &Path) -> io::Result<(File, Sha256, u64)> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(part)?;
    let (mut digest, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((file, digest, length));
        }
        digest.update(&buffer[..read]);
        length += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        let sha256 = "ab".repeat(32);
        for (name, is_taken) in [
            ("notes.txt", true),
            ("../notes.txt", false),
            ("/etc/passwd", false),
            ("..", false),
            ("", false),
            (".profile", false),
            ("a\\b", false),
            ("a\nb", false),
        ] {
            let value = json!({"name": name, "bytes": 1, "sha256": sha256});
            assert_eq!(Announced::read(&value).is_ok(), is_taken, "{name:?}");
        }
        for value in
            [json!({}), json!({"name": "a", "bytes": -1, "sha256": sha256}), json!({"name": "a", "bytes": 1})]
        {
            assert!(Announced::read(&value).is_err());
        }
        assert!(Announced::read(&json!({"name": "a", "bytes": 1, "sha256": "../"})).is_err());
    }
}
