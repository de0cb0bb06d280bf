//! `perf record`, controlled by pipes: stacks sampled by the CPU clock, which needs no hardware counters, and system
//! calls by trace points.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;

use super::scratch::{Running, output, program, read};
use super::{Look, processes};
use netdyno_lab_analysis::explain::parse;
use netdyno_lab_store::probe::Found;

/// Samples per second of CPU time; not a multiple of common periodic rates.
const SAMPLES_HZ: u32 = 997;
/// Recorded bytes of a stack for unwinding: more costs time, less truncates deep stacks.
const STACK_BYTES: u32 = 16 << 10;
/// Pages of buffer per CPU between kernel and perf, for millions of system calls.
const SYSCALL_PAGES: u32 = 4096;
const FILE_MAX: &str = "1G";
/// Time limit for perf to start, reply and end.
const PERF_TIME: Duration = Duration::from_secs(30);
/// Languages whose programs have frame pointers, or lack unwind tables.
const BY_FRAME_POINTERS: [&str; 5] = ["go", "javascript", "typescript", "java", "python"];

enum What {
    Stacks { by: String },
    Syscalls,
}

pub(super) struct Recording {
    perf: PathBuf,
    folder: PathBuf,
    what: What,
    running: Option<(Running, File, File)>,
}

impl Recording {
    /// Records stacks. Programs are not rebuilt, since the result would be a different program. Most compilers omit
    /// frame pointers but emit unwind tables; Go has frame pointers.
    pub(super) fn of_stacks(folder: &Path, language: &str) -> Result<Self, String> {
        let by = match BY_FRAME_POINTERS.contains(&language) {
            true => "fp".to_owned(),
            false => format!("dwarf,{STACK_BYTES}"),
        };
        Self::new(folder, What::Stacks { by })
    }

    /// Records system calls. Fails immediately if the trace points are unavailable.
    pub(super) fn of_syscalls(folder: &Path) -> Result<Self, String> {
        let recording = Self::new(folder, What::Syscalls)?;
        let mut test = Command::new(&recording.perf);
        test.args(["record", "-q", "-R", "-c", "1", "-e", EVENTS, "-o"]).arg(folder.join("test"));
        test.args(["--", "true"]);
        output(test, folder).map(|_| recording)
    }

    fn new(folder: &Path, what: What) -> Result<Self, String> {
        let perf = program("perf", "linux-perf")?;
        Ok(Self { perf, folder: folder.to_owned(), what, running: None })
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Sends a command to perf and waits for its completion.
    fn tell(&mut self, what: &str) -> Result<(), String> {
        let (perf, control, answer) = self.running.as_mut().ok_or("perf does not run")?;
        control.write_all(what.as_bytes()).map_err(|e| format!("telling perf: {e}"))?;
        let deadline = Instant::now() + PERF_TIME;
        let mut heard = Vec::new();
        while !heard.windows(3).any(|w| w == b"ack") {
            if perf.wait(Duration::ZERO).is_some() {
                return Err(format!("perf ended: {}", perf.complaint()));
            }
            if Instant::now() >= deadline {
                return Err(format!("perf does not respond: {}", perf.complaint()));
            }
            let mut fds = [PollFd::new(answer.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::from(50u16));
            let mut bytes = [0; 64];
            if let Ok(count) = answer.read(&mut bytes) {
                heard.extend_from_slice(&bytes[..count]);
            }
        }
        Ok(())
    }
}

const EVENTS: &str = "raw_syscalls:sys_enter,raw_syscalls:sys_exit";

impl Look for Recording {
    fn source(&self) -> String {
        match &self.what {
            What::Stacks { by } => format!("perf, CPU clock at {SAMPLES_HZ} Hz, stacks by {by}"),
            What::Syscalls => "perf, trace points of system calls".to_owned(),
        }
    }

    fn attach(&mut self, root: i32) -> Result<(), String> {
        let pipe = |name: &str| {
            let path = self.folder.join(name);
            let failed = |e: String| format!("{}: {e}", path.display());
            nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|e| failed(e.to_string()))?;
            let mut open = OpenOptions::new();
            // Opened for reading and writing, so that neither side blocks.
            let file = open.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path);
            Ok::<_, String>((path.clone(), file.map_err(|e| failed(e.to_string()))?))
        };
        let ((control_path, control), (answer_path, answer)) = (pipe("control")?, pipe("answer")?);
        let pids: Vec<String> = processes(root).iter().map(i32::to_string).collect();
        let mut command = Command::new(&self.perf);
        command.args(["record", "-q", "-N", "-B", "-D", "-1", "--max-size", FILE_MAX]);
        command.arg(format!("--control=fifo:{},{}", control_path.display(), answer_path.display()));
        match &self.what {
            What::Stacks { by } => {
                command.args(["-e", "cpu-clock", "-F", &SAMPLES_HZ.to_string(), "--call-graph", by]);
            }
            What::Syscalls => {
                command.args(["-R", "-c", "1", "-m", &SYSCALL_PAGES.to_string(), "-e", EVENTS]);
            }
        }
        command.args(["-p", &pids.join(","), "-o"]).arg(self.data());
        self.running = Some((Running::start(command, &self.folder, Stdio::null())?, control, answer));
        self.tell("ping\n")
    }

    fn begin(&mut self, _root: i32) -> Result<(), String> {
        self.tell("enable\n")
    }

    fn end(&mut self, _root: i32) -> Result<(), String> {
        self.tell("disable\n")
    }

    fn found(&mut self) -> Result<Found, String> {
        let (mut perf, mut control, _) = self.running.take().ok_or("perf does not run")?;
        // Perf ends by itself when its processes have ended.
        let _ = control.write_all(b"stop\n");
        perf.wait(PERF_TIME).ok_or_else(|| format!("perf does not end: {}", perf.complaint()))?;
        if perf.complaint().contains("size limit") {
            return Err(format!(
                "more than {FILE_MAX} of events: a shorter window is needed, --set seconds=.."
            ));
        }
        let mut command = Command::new(&self.perf);
        match self.what {
            What::Stacks { .. } => {
                command.args(["script", "-F", "ip,sym,dso", "--no-inline", "-i"]).arg(self.data());
                let stacks = parse::folded(&output(command, &self.folder)?);
                let samples = stacks.values().sum();
                match samples {
                    0 => Err("no samples: no CPU time was used, or perf lacks permission".to_owned()),
                    _ => Ok(Found::Profile { stacks, samples }),
                }
            }
            What::Syscalls => {
                let summary = self.folder.join("summary");
                command.args(["trace", "--summary", "-i"]).arg(self.data()).arg("-o").arg(&summary);
                let printed = output(command, &self.folder)?;
                let (calls, lost) = parse::perf_trace(&format!("{printed}\n{}", read(&summary)?));
                Ok(Found::Syscalls { calls, lost })
            }
        }
    }
}
