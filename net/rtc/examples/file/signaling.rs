//! Exchanges descriptions between two terminals.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Outcome, base64};

/// How often the rendezvous directory is polled.
const INTERVAL: Duration = Duration::from_millis(50);
/// Limit of a description in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Signalling through files in a directory, or by copy and paste.
pub(crate) struct Signaling {
    rendezvous: Option<PathBuf>,
}

impl Signaling {
    pub(crate) fn new(rendezvous: Option<PathBuf>) -> Self {
        Self { rendezvous }
    }

    /// Passes an offer to the other side and returns its answer.
    pub(crate) async fn offer(&self, offer: &str) -> Outcome<String> {
        let Some(folder) = &self.rendezvous else {
            show("offer", "receive", offer);
            return ask("answer").await;
        };
        // An existing answer belongs to an older offer.
        let (offer_path, answer_path) = (folder.join("offer"), folder.join("answer"));
        remove(&answer_path)?;
        write(&offer_path, offer)?;
        eprintln!("waiting for a receiver in {}", folder.display());
        let _offer = RemoveOnDrop(offer_path);
        take(&answer_path).await
    }

    /// Waits for an offer of the other side.
    pub(crate) async fn wait_for_offer(&self) -> Outcome<String> {
        match &self.rendezvous {
            Some(folder) => {
                eprintln!("waiting for a sender in {}", folder.display());
                take(&folder.join("offer")).await
            }
            None => ask("offer").await,
        }
    }

    /// Passes the answer to the other side.
    pub(crate) fn answer(&self, answer: &str) -> Outcome<()> {
        match &self.rendezvous {
            Some(folder) => Ok(write(&folder.join("answer"), answer)?),
            None => {
                show("answer", "send", answer);
                Ok(())
            }
        }
    }
}

/// Removes an offer that can no longer be answered.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        // The error cannot be reported.
        let _ = remove(&self.0);
    }
}

fn show(what: &str, to: &str, description: &str) {
    println!(
        "copy this {what} to the terminal with `file {to}`:\n\n{}\n",
        base64::encode(description.as_bytes())
    );
}

/// Reads one line of Base64 from the terminal.
async fn ask(what: &str) -> Outcome<String> {
    print!("paste the {what} here: ");
    io::stdout().flush()?;
    let (reply, line) = tokio::sync::oneshot::channel();
    // A thread that is still reading ends with the program.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::Read::take(io::stdin().lock(), 2 * MAX_BYTES).read_line(&mut line);
        // The receiver may be gone.
        let _ = reply.send(read.map(|_| line));
    });
    let bytes = base64::decode(&line.await??).ok_or("the line is not Base64")?;
    Ok(String::from_utf8(bytes)?)
}

/// Writes to a temporary file first, so that no reader sees half of it.
fn write(path: &Path, description: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, description)?;
    fs::rename(beside, path)
}

/// Waits for a file, reads and removes it.
async fn take(path: &Path) -> Outcome<String> {
    loop {
        match fs::metadata(path) {
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(format!("{}: too long for a description", path.display()).into());
            }
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => tokio::time::sleep(INTERVAL).await,
            Err(error) => return Err(format!("{}: {error}", path.display()).into()),
        }
    }
    let description = fs::read_to_string(path)?;
    remove(path)?;
    Ok(description)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
