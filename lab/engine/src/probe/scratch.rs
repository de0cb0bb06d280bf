//! Files of the tools, in a folder of the cache that goes away; and running a tool within limits.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most that is read of what a tool printed.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;
/// How long a tool may take over what it recorded.
const TOOL_TIME: Duration = Duration::from_secs(180);
/// Pause between two looks at whether it is done.
const PAUSE: Duration = Duration::from_millis(10);
/// Characters of a tool's complaint that are told.
const COMPLAINT_CHARS: usize = 400;

/// A folder that goes away with this value.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes one in the cache.
    ///
    /// # Errors
    /// In words: why it cannot be made.
    pub fn new(cache: &Path) -> Result<Scratch, String> {
        let path = cache.join("explain").join(format!("work-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch { path })
    }

    /// Where things stay that are made once.
    pub(super) fn kept(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// An empty folder in it.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what is left is small, and the next one of this process number takes it away.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A program of the system, by name, or how to get it.
pub(super) fn program(name: &str, package: &str) -> Result<PathBuf, String> {
    which::which(name).map_err(|_| format!("no {name} here; apt-get install {package}"))
}

/// Ends with this value, should nobody have ended it.
pub(super) struct Running(pub(super) Child);

impl Running {
    /// Waits for its end, for so long.
    pub(super) fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                _ => return None,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a tool over what was recorded; all that it printed.
pub(super) fn output(mut command: Command, folder: &Path) -> Result<String, String> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
    let name = command.get_program().to_string_lossy().into_owned();
    let mut tool = Running(command.spawn().map_err(|e| format!("{name}: {e}"))?);
    match tool.wait(TOOL_TIME) {
        Some(status) if status.success() => read(&out),
        Some(status) => Err(format!("{name}: {status}: {}", complaint(&err))),
        None => Err(format!("{name}: not done in {TOOL_TIME:?}")),
    }
}

/// What a tool wrote, as text.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The beginning of what a tool complained of, in a line.
pub(super) fn complaint(path: &Path) -> String {
    let text = read(path).unwrap_or_default();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(COMPLAINT_CHARS).collect()
}
