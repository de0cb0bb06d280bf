//! Receives a file: beside its place first, then checked, then put there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use netdyno_rtc::Kind;
use netdyno_rtc::tokio::{DataChannel, PeerConnection};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::progress::{Progress, shown};
use crate::sender::hear;
use crate::signaling::Signaling;
use crate::{Outcome, hex};

/// Bytes of a name.
const MAX_NAME_BYTES: usize = 200;
/// Digits of the digest that tell one half-received file from another of the same name.
const DIGITS: usize = 16;

pub(crate) async fn receive(connection: &PeerConnection, signaling: &Signaling, into: &Path) -> Outcome<()> {
    let offer = signaling.wait_for_offer().await?;
    signaling.answer(&connection.accept_offer(&offer)?)?;
    let channel = connection.accept_channel().await?;
    let announced = Announced::read(&hear(&channel).await?)?;
    let received = take(&channel, &announced, into).await;
    let verdict = match &received {
        Ok(()) => json!({"ok": true}),
        Err(error) => json!({"error": error.to_string()}),
    };
    channel.send_text(&verdict.to_string()).await?;
    // Closed means that the verdict has arrived. A sender that is gone does not need it.
    channel.close();
    let _ = channel.wait_closed().await;
    received
}

/// What the sender says of its file.
#[derive(Debug)]
struct Announced {
    name: String,
    bytes: u64,
    sha256: String,
}

impl Announced {
    fn read(value: &Value) -> Outcome<Self> {
        let text = |key: &str| value[key].as_str().ok_or(format!("the sender does not say its {key}"));
        let (name, sha256) = (text("name")?, text("sha256")?);
        let bytes = value["bytes"].as_u64().ok_or("the sender does not say how many bytes there are")?;
        // A name, not a path: it must not lead elsewhere.
        let is_plain = !name.is_empty()
            && name.len() <= MAX_NAME_BYTES
            && !name.starts_with('.')
            && !name.contains(|c: char| c.is_control() || "/\\:".contains(c));
        if !is_plain {
            return Err("the name is not one that a file may have".into());
        }
        if sha256.len() != 64 || !sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err("the digest is none".into());
        }
        Ok(Self { name: name.to_owned(), bytes, sha256: sha256.to_ascii_lowercase() })
    }
}

async fn take(channel: &DataChannel, announced: &Announced, into: &Path) -> Outcome<()> {
    let Announced { name, bytes, sha256 } = announced;
    let place = into.join(name);
    if place.try_exists()? {
        return Err(format!("{} exists already", place.display()).into());
    }
    let part = into.join(format!("{name}.{}.part", &sha256[..DIGITS]));
    // The connection lives on while a long part is read.
    let path = part.clone();
    let (mut file, mut digest, offset) = tokio::task::spawn_blocking(move || resume(&path)).await??;
    if offset > *bytes {
        return Err(format!("{} is longer than what it is a part of", part.display()).into());
    }
    eprintln!("{name}: {}, from byte {offset}", shown(*bytes as f64));
    channel.send_text(&json!({"offset": offset}).to_string()).await?;

    let (mut progress, mut there, mut messages) = (Progress::new(offset, *bytes), offset, Vec::new());
    progress.tell(there);
    while there < *bytes {
        channel.recv_many(&mut messages, 64).await?;
        for message in messages.drain(..) {
            there += message.data.len() as u64;
            if message.kind != Kind::Binary || there > *bytes {
                return Err("the sender sends other than it said".into());
            }
            digest.update(&message.data);
            file.write_all(&message.data)?;
        }
        progress.tell(there);
    }
    file.sync_all()?;
    if hex(digest) != *sha256 {
        // Nothing to go on from.
        fs::remove_file(&part)?;
        return Err("the digest is not what the sender said; all of it must be sent again".into());
    }
    fs::rename(&part, &place)?;
    eprintln!("\n{}: all has arrived, and is right", place.display());
    Ok(())
}

/// Opens what an earlier transfer left, to go on at its end; gives its digest and length too.
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
