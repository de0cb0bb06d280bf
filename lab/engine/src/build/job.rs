//! A build in progress: its folders, log, progress and tools.

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::limits::{
    ANSWER_LINES_MAX, INPUT_BYTES_MAX, LOG_BYTES_MAX, POLL, SHOWN_LINE_CHARS_MAX, TAIL_LINES,
};
use super::package::{COMPILED, Package};
use super::process::{Stop, Stream, Watch, run};
use super::tree::Tree;
use super::{BuildError, BuildEvent, Result, remedy_for, remove_folder, sweep};
use netdyno_lab_manifest::Contender;

pub(super) struct Job<'a> {
    pub(super) contender: &'a Contender,
    pub(super) sdk: Option<&'a Path>,
    /// The folder of the finished build. Roles see `files` in it.
    pub(super) entry: &'a Path,
    /// The folder for state that tools share between builds.
    pub(super) work: &'a Path,
    pub(super) toolchain: &'a str,
    pub(super) watch: Watch<'a>,
    pub(super) events: &'a mut dyn FnMut(BuildEvent),
    /// Time spent waiting for other labs.
    pub(super) waited: Duration,
    pub(super) log: Log,
    /// The packages of the program with available source, or why there are none.
    pub(super) packages: Result<Vec<Package>, String>,
}

/// The output of a build's tools: all of it in a file, and the last lines.
pub(super) struct Log {
    pub(super) path: PathBuf,
    /// Created when the build begins: before, it may belong to another lab's.
    file: Option<File>,
    bytes: u64,
    tail: VecDeque<String>,
}

impl<'a> Job<'a> {
    /// A job for a folder of the cache, without SDK and toolchain.
    pub(super) fn new(
        contender: &'a Contender,
        entry: &'a Path,
        work: &'a Path,
        watch: Watch<'a>,
        events: &'a mut dyn FnMut(BuildEvent),
    ) -> Self {
        let name = format!("{}.log", entry.file_name().unwrap_or_default().to_string_lossy());
        let log = Log {
            path: work.with_file_name("logs").join(name),
            file: None,
            bytes: 0,
            tail: VecDeque::with_capacity(TAIL_LINES),
        };
        let packages = Err(COMPILED.to_owned());
        Self {
            contender,
            sdk: None,
            entry,
            work,
            toolchain: "",
            watch,
            events,
            waited: Duration::ZERO,
            log,
            packages,
        }
    }

    pub(super) fn name(&self) -> String {
        self.entry.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Empties the folder, which is locked, and starts the log. `record` is the file that marks finished folders.
    pub(super) fn begin(&mut self, record: &str) -> Result<Instant> {
        let error = |e| BuildError::cache(self.entry, e);
        let name = self.name();
        sweep(self.entry.parent().unwrap_or(self.entry), self.work, self.contender, (&name, record));
        remove_folder(self.entry).map_err(error)?;
        fs::create_dir_all(self.entry).map_err(error)?;
        self.log.file = Some(File::create(&self.log.path).map_err(|e| BuildError::cache(&self.log.path, e))?);
        self.waited = Duration::ZERO;
        (self.events)(BuildEvent::Started);
        tracing::info!(contender = self.contender.id(), name, "build started");
        Ok(Instant::now())
    }

    /// The folder that roles see.
    pub(super) fn files(&self) -> PathBuf {
        self.entry.join("files")
    }

    /// Runs a tool; `step` names it in errors.
    pub(super) fn run(&mut self, step: &str, command: &mut Command) -> Result<()> {
        self.run_reading(step, command, &mut |_| false)
    }

    /// Runs a tool. Lines of its stdout that `read` consumes are not logged.
    pub(super) fn run_reading(
        &mut self,
        step: &str,
        command: &mut Command,
        read: &mut dyn FnMut(&str) -> bool,
    ) -> Result<()> {
        self.log.write(&format!("$ {command:?}"));
        self.log.tail.clear();
        let (log, events) = (&mut self.log, &mut *self.events);
        let ended = run(command, self.watch, &mut |stream, line| {
            if stream == Stream::Stdout && read(line) {
                return;
            }
            log.write(line);
            events(BuildEvent::Line(shown(line)));
        });
        let status = ended.map_err(|stop| self.stopped(stop, step))?;
        if status.success() {
            return Ok(());
        }
        let tail: Vec<String> = self.log.tail.iter().cloned().collect();
        let remedy = remedy_for(&tail);
        let (contender, step, log) = (self.contender.id(), step.to_owned(), self.log.path.clone());
        Err(BuildError::Tool { contender, step, status, tail, log, remedy })
    }

    /// Runs a tool. Returns the lines of its stdout, which are not logged.
    pub(super) fn ask(&mut self, step: &str, command: &mut Command) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        self.run_reading(step, command, &mut |line| {
            if lines.len() < ANSWER_LINES_MAX {
                lines.push(line.to_owned());
            }
            true
        })?;
        Ok(lines)
    }

    /// Takes a lock shared with other builds. It is held until the file is dropped.
    pub(super) fn lock(&mut self, path: &Path) -> Result<File> {
        self.lock_one_of(&[path.to_owned()]).map(|(_, file)| file)
    }

    /// Takes the first free one of these locks. Returns its index.
    pub(super) fn lock_one_of(&mut self, paths: &[PathBuf]) -> Result<(usize, File)> {
        let begun = Instant::now();
        let open = |path: &PathBuf| open_lock(path).map_err(|e| BuildError::cache(path, e));
        let mut files = paths.iter().map(open).collect::<Result<Vec<File>>>()?;
        let mut is_announced = false;
        let index = 'taken: loop {
            for (index, file) in files.iter().enumerate() {
                match file.try_lock() {
                    Ok(()) => break 'taken index,
                    Err(TryLockError::Error(e)) => return Err(BuildError::cache(&paths[index], e)),
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            if !std::mem::replace(&mut is_announced, true) {
                (self.events)(BuildEvent::Line("waiting for another build".to_owned()));
            }
            self.watch.check().map_err(|stop| self.stopped(stop, "waiting"))?;
            thread::sleep(POLL);
        };
        self.waited += begun.elapsed();
        Ok((index, files.swap_remove(index)))
    }

    pub(super) fn source_error(&self, path: &Path, rule: impl Into<String>) -> BuildError {
        BuildError::invalid(self.contender, path, rule.into())
    }

    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let tree = Tree::list(from).map_err(|refused| self.source_error(&refused.path, refused.rule))?;
        tree.copy_to(to).map_err(|e| BuildError::cache(to, e))
    }

    fn stopped(&self, stop: Stop, step: &str) -> BuildError {
        let contender = self.contender.id();
        match stop {
            Stop::Start(source) => BuildError::Start { contender, step: step.to_owned(), source },
            Stop::Cancelled => BuildError::Cancelled { contender },
            Stop::TooLong => {
                let rule = format!("generates a file of more than {INPUT_BYTES_MAX} bytes");
                self.source_error(&self.contender.dir, rule)
            }
            Stop::TimeLimit => {
                let tail = self.log.tail.iter().cloned().collect();
                BuildError::TimeLimit { contender, tail, log: self.log.path.clone() }
            }
        }
    }
}

impl Log {
    fn write(&mut self, line: &str) {
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(shown(line));
        self.bytes = self.bytes.saturating_add(line.len() as u64 + 1);
        if let Some(file) = self.file.as_mut().filter(|_| self.bytes <= LOG_BYTES_MAX) {
            // A failure, for example on a full disk, is ignored: the tool itself will fail.
            let _ = writeln!(file, "{line}");
        }
    }
}

/// Opens a lock file, creating it and its folder.
pub(super) fn open_lock(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::options().create(true).truncate(false).write(true).open(path)
}

/// A line for display: without escape sequences and control characters, and of limited length.
pub(super) fn shown(line: &str) -> String {
    let mut chars = line.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // An escape sequence ends with its first letter.
            let _ = chars.find(char::is_ascii_alphabetic);
        } else if !c.is_control() || c == '\t' {
            text.push(c);
        }
        if text.len() >= SHOWN_LINE_CHARS_MAX {
            break;
        }
    }
    text
}
