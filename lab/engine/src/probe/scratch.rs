//! Temporary files of tools, and running tools with limits.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most bytes read of a tool's output.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;
/// Time limit for processing recorded data.
const TOOL_TIME: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(10);
/// Characters of a tool's error that are reported.
const COMPLAINT_CHARS: usize = 400;

/// A folder that is removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a folder in the cache.
    pub fn new(cache: &Path) -> Result<Scratch, String> {
        let path = cache.join("explain").join(format!("work-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch { path })
    }

    /// The folder for files that are kept.
    pub(super) fn kept(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// An empty subfolder.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: leftovers are small, and replaced by the next process with this number.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The path of a program of the system; the error has the remedy.
pub(super) fn program(name: &str, package: &str) -> Result<PathBuf, String> {
    which::which(name).map_err(|_| format!("{name} is not installed; apt-get install {package}"))
}

/// A running tool, whose stderr is a file. Killed when dropped.
pub(super) struct Running {
    pub(super) child: Child,
    errors: PathBuf,
}

impl Running {
    pub(super) fn start(
        mut command: Command,
        folder: &Path,
        stdout: impl Into<Stdio>,
    ) -> Result<Self, String> {
        let errors = folder.join("errors");
        command.stdin(Stdio::null()).stdout(stdout).stderr(create(&errors)?);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|e| format!("{name}: {e}"))?;
        Ok(Self { child, errors })
    }

    /// Waits for its end, up to a time limit.
    pub(super) fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                _ => return None,
            }
        }
    }

    /// The start of its errors, in one line.
    pub(super) fn complaint(&self) -> String {
        let text = read(&self.errors).unwrap_or_default();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().take(COMPLAINT_CHARS).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a tool over recorded data. Returns its output.
pub(super) fn output(command: Command, folder: &Path) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = folder.join("out");
    let mut tool = Running::start(command, folder, create(&out)?)?;
    match tool.wait(TOOL_TIME) {
        Some(status) if status.success() => read(&out),
        Some(status) => Err(format!("{name}: {status}: {}", tool.complaint())),
        None => Err(format!("{name}: did not end within {TOOL_TIME:?}")),
    }
}

fn create(path: &Path) -> Result<File, String> {
    File::create(path).map_err(|e| format!("{}: {e}", path.display()))
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
