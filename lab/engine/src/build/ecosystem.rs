//! The interface to the build tools, each of which has its own file.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::limits::PROBE_BYTES_MAX;
use super::process::{Stop, Stream, Watch, run};
use super::{BuildError, job::Job};
use netdyno_lab_manifest::Contender;

/// A build tool.
pub(super) trait Ecosystem {
    /// A missing part of the tool itself.
    fn missing(&self, probe: &Probe<'_>) -> Option<Missing>;
    /// Version output of the toolchain, and other properties of this host that affect the build.
    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError>;
    /// The flags of a release build.
    fn flags(&self) -> &'static [&'static str];
    /// Environment variables that affect the build; a trailing `*` matches any suffix.
    fn environment(&self) -> &'static [&'static str];
    /// The lock file and the command that creates it. Go has none if nothing is imported.
    fn lock_file(&self) -> (&'static str, Option<&'static str>);
    /// Folders outside the contender's own that the build uses, as far as the tool knows them.
    fn local_folders(&self, _probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        Ok(Vec::new())
    }
    /// Other sources that are not a release: archives next to the contender, commits.
    fn unreleased(&self, _probe: &Probe<'_>) -> Result<Vec<String>, BuildError> {
        Ok(Vec::new())
    }
    /// Builds into `job.files()` and `job.entry`.
    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError>;
}

/// A missing prerequisite.
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) remedy: Remedy,
}

/// How to install a prerequisite.
pub(super) enum Remedy {
    /// Debian packages.
    Apt(Vec<String>),
    /// A command or a web page.
    Other(&'static str),
}

impl Missing {
    /// Programs that are not on the PATH.
    pub(super) fn programs(programs: &[&str], remedy: impl Fn() -> Remedy) -> Option<Self> {
        let absent: Vec<_> = programs.iter().filter(|p| which::which(p).is_err()).copied().collect();
        let reason = format!("{} not found on the PATH", absent.join(", "));
        (!absent.is_empty()).then(|| Self { reason, remedy: remedy() })
    }

    /// Debian packages with these names.
    pub(super) fn apt(packages: &[&str]) -> Remedy {
        Remedy::Apt(packages.iter().map(|p| (*p).to_owned()).collect())
    }
}

/// Runs short queries of tools in the contender's folder.
pub(super) struct Probe<'a> {
    pub(super) contender: &'a Contender,
    pub(super) watch: Watch<'a>,
}

impl Probe<'_> {
    /// The content of a file of the contender; empty if it does not exist.
    pub(super) fn file(&self, name: &str) -> Result<String, BuildError> {
        match std::fs::read_to_string(self.contender.dir.join(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(self.source_error(name, format!("cannot be read: {e}")))
            }
            read => Ok(read.unwrap_or_default()),
        }
    }

    /// An error about such a file.
    pub(super) fn source_error(&self, name: &str, rule: String) -> BuildError {
        BuildError::Source { contender: self.contender.id(), path: self.contender.dir.join(name), rule }
    }

    /// The stdout of a tool.
    pub(super) fn ask(&self, program: &str, args: &[&str]) -> Result<String, BuildError> {
        self.ask_in(&self.contender.dir, program, args)
    }

    /// Whether a tool fails. Cancellation and timeouts do not count.
    pub(super) fn denies(&self, program: &str, args: &[&str]) -> bool {
        matches!(self.ask(program, args), Err(BuildError::Denied { .. } | BuildError::Start { .. }))
    }

    /// Like [`Probe::ask`], in another folder.
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
