//! The interface to the build tools, each of which has its own file.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::limits::PROBE_BYTES_MAX;
use super::process::{Stop, Stream, Watch, run};
use super::{BuildError, Result, job::Job};
use netdyno_lab_manifest::Contender;

pub(super) struct Ecosystem {
    /// A missing part of the tool itself.
    pub(super) missing: fn(&Probe<'_>) -> Option<Missing>,
    /// Version output of the toolchain, and other properties of this host that affect the build.
    pub(super) toolchain: fn(&Probe<'_>) -> Result<String>,
    pub(super) flags: &'static [&'static str],
    /// Environment variables that affect the build, separated by spaces; a trailing `*` matches any suffix.
    pub(super) environment: &'static str,
    /// The lock file and the command that creates it. Go has none if nothing is imported.
    pub(super) lock_file: (&'static str, Option<&'static str>),
    /// Folders outside the contender's own that the build uses, as far as the tool knows them.
    pub(super) local_folders: fn(&Probe<'_>) -> Result<Vec<PathBuf>>,
    /// Other sources that are not a release: archives next to the contender, commits.
    pub(super) unreleased: fn(&Probe<'_>) -> Result<Vec<String>>,
    /// Builds into `job.files()` and `job.entry`.
    pub(super) build: fn(&mut Job<'_>) -> Result<()>,
}

pub(super) fn none<T>(_: &Probe<'_>) -> Result<Vec<T>> {
    Ok(Vec::new())
}

pub(super) struct Missing {
    pub(super) reason: String,
    /// A command or a web page.
    pub(super) remedy: String,
}

impl Missing {
    pub(super) fn programs(programs: &[&str], remedy: impl Into<String>) -> Option<Self> {
        let absent: Vec<_> = programs.iter().filter(|p| which::which(p).is_err()).copied().collect();
        let reason = format!("{} not found on the PATH", absent.join(", "));
        (!absent.is_empty()).then(|| Self { reason, remedy: remedy.into() })
    }
}

/// Runs short queries of tools in the contender's folder.
pub(super) struct Probe<'a> {
    pub(super) contender: &'a Contender,
    pub(super) watch: Watch<'a>,
}

impl Probe<'_> {
    /// The content of a file of the contender; empty if it does not exist.
    pub(super) fn file(&self, name: &str) -> Result<String> {
        match std::fs::read_to_string(self.contender.dir.join(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(self.source_error(name, format!("cannot be read: {e}")))
            }
            read => Ok(read.unwrap_or_default()),
        }
    }

    pub(super) fn source_error(&self, name: &str, rule: impl ToString) -> BuildError {
        BuildError::invalid(self.contender, &self.contender.dir.join(name), rule.to_string())
    }

    pub(super) fn error(&self, step: &str, reason: impl ToString) -> BuildError {
        let (contender, step) = (self.contender.id(), step.to_owned());
        BuildError::Probe { contender, step, reason: reason.to_string() }
    }

    pub(super) fn ask(&self, program: &str, args: &[&str]) -> Result<String> {
        self.ask_in(&self.contender.dir, program, args)
    }

    /// Whether a tool fails. Cancellation and timeouts do not count.
    pub(super) fn denies(&self, program: &str, args: &[&str]) -> bool {
        matches!(self.ask(program, args), Err(BuildError::Denied { .. } | BuildError::Start { .. }))
    }

    /// Like [`Probe::ask`], in another folder.
    pub(super) fn ask_in(&self, folder: &Path, program: &str, args: &[&str]) -> Result<String> {
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
            Err(Stop::TimeLimit | Stop::TooLong) => Err(self.error(&step, "no answer in time")),
        }
    }
}
