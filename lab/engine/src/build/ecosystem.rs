//! What the build needs of each tool; one file a tool implements it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::limits::PROBE_BYTES_MAX;
use super::process::{Stop, Stream, Watch, run};
use super::{BuildError, job::Job};
use netdyno_lab_manifest::Contender;

/// What the build needs of a tool.
pub(super) trait Ecosystem {
    /// What of the tool itself is not installed.
    fn missing(&self, probe: &Probe<'_>) -> Option<Missing>;
    /// The toolchain in its own words, and whatever else of this host decides what comes out.
    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError>;
    /// The flags of a release build.
    fn flags(&self) -> &'static [&'static str];
    /// Names of the variables that decide what comes out; one that ends in `*` stands for all that begin so.
    fn environment(&self) -> &'static [&'static str];
    /// The lock file, and what makes one. Go has none where nothing is imported.
    fn lock_file(&self) -> (&'static str, Option<&'static str>);
    /// Folders outside the contender's own that it is built from, as far as the tool knows them.
    fn local_folders(&self, _probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        Ok(Vec::new())
    }
    /// What else of it is no release, in words: archives beside it, commits.
    fn unreleased(&self, _probe: &Probe<'_>) -> Result<Vec<String>, BuildError> {
        Ok(Vec::new())
    }
    /// Builds into `job.files()` and beside it in `job.entry`.
    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError>;
}

/// Something that is not installed.
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) remedy: Remedy,
}

/// How to install it.
pub(super) enum Remedy {
    /// Debian packages.
    Apt(Vec<String>),
    /// A command or a page.
    Other(&'static str),
}

impl Missing {
    /// Programs that are not on the PATH.
    pub(super) fn programs(programs: &[&str], remedy: impl Fn() -> Remedy) -> Option<Self> {
        let absent: Vec<_> = programs.iter().filter(|p| which::which(p).is_err()).copied().collect();
        let reason = format!("{} not found on the PATH", absent.join(", "));
        (!absent.is_empty()).then(|| Self { reason, remedy: remedy() })
    }

    /// The Debian packages of that name.
    pub(super) fn apt(packages: &[&str]) -> Remedy {
        Remedy::Apt(packages.iter().map(|p| (*p).to_owned()).collect())
    }
}

/// Asks tools short questions, in the contender's folder.
pub(super) struct Probe<'a> {
    pub(super) contender: &'a Contender,
    pub(super) watch: Watch<'a>,
}

impl Probe<'_> {
    /// One of the contender's own files; empty if it has none.
    pub(super) fn file(&self, name: &str) -> Result<String, BuildError> {
        match std::fs::read_to_string(self.contender.dir.join(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(self.source_error(name, format!("cannot be read: {e}")))
            }
            read => Ok(read.unwrap_or_default()),
        }
    }

    /// The error for something about such a file.
    pub(super) fn source_error(&self, name: &str, rule: String) -> BuildError {
        BuildError::Source { contender: self.contender.id(), path: self.contender.dir.join(name), rule }
    }

    /// What a tool prints on stdout.
    pub(super) fn ask(&self, program: &str, args: &[&str]) -> Result<String, BuildError> {
        self.ask_in(&self.contender.dir, program, args)
    }

    /// Whether a tool answers no. A probe that is cancelled or out of time has no answer.
    pub(super) fn denies(&self, program: &str, args: &[&str]) -> bool {
        matches!(self.ask(program, args), Err(BuildError::Denied { .. } | BuildError::Start { .. }))
    }

    /// The same as [`Probe::ask`], in another folder.
    pub(super) fn ask_in(&self, folder: &Path, program: &str, args: &[&str]) -> Result<String, BuildError> {
        let (mut answer, mut complaint) = (String::new(), String::new());
        let mut command = Command::new(program);
        command.args(args).current_dir(folder);
        let ended = run(&mut command, self.watch, &mut |stream, line| {
            let text = if stream == Stream::Stdout { &mut answer } else { &mut complaint };
            if text.len() + line.len() < PROBE_BYTES_MAX {
                text.push_str(line);
                text.push('\n');
            }
        });
        let contender = self.contender.id();
        let step = format!("{program} {}", args.join(" "));
        match ended {
            Ok(status) if status.success() => Ok(answer.trim_end().to_owned()),
            Ok(status) => {
                let said = complaint.trim_end().lines().last().unwrap_or_default().to_owned();
                Err(BuildError::Denied { contender, step, status, said })
            }
            Err(Stop::Start(source)) => Err(BuildError::Start { contender, step, source }),
            Err(Stop::Cancelled) => Err(BuildError::Cancelled { contender }),
            Err(Stop::TimeLimit | Stop::TooLong) => {
                Err(BuildError::Probe { contender, step, reason: "no answer in time".to_owned() })
            }
        }
    }
}
