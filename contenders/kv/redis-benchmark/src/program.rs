//! redis-benchmark, as a child: one test again and again, its reports in a file, its errors counted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{JoinHandle, spawn};

use netdyno_contender::kv::Job;
use netdyno_contender::{Lab, now_ns};

use crate::counts::{Progress, Run, opened};
use crate::limits::{MAX_LINE_BYTES, MAX_REPORT_BYTES, MAX_TOLD};
use crate::report::{Report, reports};
use crate::sockets::Sockets;

/// As it is found on the PATH.
pub const PROGRAM: &str = "redis-benchmark";
/// How it begins to tell an error that the server answered; once a second at the most.
const ERROR: &str = "Error from server";
/// Behind the report of each run.
const SUMMARY: &str = "latency summary (msec):";

pub struct Program {
    child: Child,
    run: Run,
    sockets: Sockets,
    /// What this network had opened before.
    opened: u64,
    reports: File,
    /// Where in that file the measured time begins.
    measured_from: u64,
    stopping: Arc<AtomicBool>,
    errors: Option<JoinHandle<u64>>,
}

impl Program {
    /// Starts it against this server.
    pub fn start(job: &Job, server: SocketAddr, run: Run) -> Result<Self, String> {
        let failed = |what: &str, error: io::Error| format!("{PROGRAM}: {what}: {error}");
        let reports = nameless().map_err(|e| failed("no file for its reports", e))?;
        let out = reports.try_clone().map_err(|e| failed("no file for its reports", e))?;
        let sockets = Sockets::new(server)?;
        let opened = opened()?;
        let mut command = Command::new(PROGRAM);
        command.args(arguments(job, server, &run)).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed("cannot be started", e))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stderr = child.stderr.take();
        let watched = Arc::clone(&stopping);
        let lab = job.lab;
        let errors = stderr.map(|stderr| spawn(move || watch(lab, stderr, &watched)));
        Ok(Self { child, run, sockets, opened, reports, measured_from: 0, stopping, errors })
    }

    /// The measured time begins.
    pub fn measure(&mut self) -> Result<(), String> {
        self.measured_from = self.written()?;
        Ok(())
    }

    pub fn progress(&self) -> Result<Progress, String> {
        self.run.progress(|| Ok(opened()?.saturating_sub(self.opened)), || self.sockets.look())
    }

    /// Ends it: the reports of the measured time, and how many errors of the server it told. `runs` were over before.
    pub fn end(&mut self, runs: u64) -> Result<(Vec<Report>, u64), String> {
        self.kill();
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or(0);
        let length = self.written()?;
        if length > MAX_REPORT_BYTES {
            return Err(format!("{PROGRAM} printed {length} bytes, more than {MAX_REPORT_BYTES}"));
        }
        let mut text = vec![0; length as usize];
        self.reports.read_exact_at(&mut text, 0).map_err(|e| format!("reports of {PROGRAM}: {e}"))?;
        check_runs(&String::from_utf8_lossy(&text), runs)?;
        let measured = &text[(self.measured_from as usize).min(text.len())..];
        Ok((reports(&String::from_utf8_lossy(measured))?, errors))
    }

    pub fn kill(&mut self) {
        self.stopping.store(true, SeqCst);
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn written(&self) -> Result<u64, String> {
        let length = self.reports.metadata().map(|metadata| metadata.len());
        length.map_err(|e| format!("reports of {PROGRAM}: {e}"))
    }
}

/// The program's defaults, but for what the workload asks for: one test, again and again.
fn arguments(job: &Job, server: SocketAddr, run: &Run) -> Vec<String> {
    let test = if job.set_percent == 0 { "get" } else { "set" };
    let options = [
        ("-h", server.ip().to_string()),
        ("-p", server.port().to_string()),
        ("-t", test.to_owned()),
        ("-c", run.connections.to_string()),
        ("-n", run.requests.to_string()),
        ("-P", job.pipeline.to_string()),
        ("-d", job.value_bytes.to_string()),
        ("-r", job.keys.to_string()),
    ];
    let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
    options.chain(["-l".to_owned()]).collect()
}

/// Runs were counted by connections, which others of the same network may open, too: so many reports there have to be. The last ones
/// may be in the program's memory still, or of a run that ended after it was asked to.
fn check_runs(text: &str, runs: u64) -> Result<(), String> {
    let reported = text.matches(SUMMARY).count() as u64;
    if reported.abs_diff(runs) > 2 {
        return Err(format!(
            "{PROGRAM} reported {reported} runs, and its connections tell of {runs}: does somebody else connect in this network?"
        ));
    }
    Ok(())
}

/// A file that has gone when it is closed, however that comes.
fn nameless() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("netdyno-reports-{}-{}", std::process::id(), now_ns()));
    let file = OpenOptions::new().read(true).append(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Counts the errors that it tells, and hands them on. Where it ends by itself, that is a failure.
fn watch(lab: Lab, stderr: ChildStderr, stopping: &AtomicBool) -> u64 {
    let (mut lines, mut errors, mut told) = (BufReader::new(stderr), 0, 0);
    let mut last = String::new();
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => last = String::from_utf8_lossy(&line).trim().to_owned(),
        }
        errors += u64::from(last.starts_with(ERROR));
        if told < MAX_TOLD {
            told += 1;
            eprintln!("{PROGRAM}: {last}");
        }
    }
    if !stopping.load(SeqCst) {
        lab.failed(format!("{PROGRAM} ended by itself: {last}"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_runs_have_to_agree() {
        let text = format!("x {SUMMARY}\n").repeat(5);
        for (runs, good) in [(2, false), (3, true), (5, true), (7, true), (8, false)] {
            assert_eq!(check_runs(&text, runs).is_ok(), good, "{runs}");
        }
    }

    #[test]
    fn a_file_without_a_name_is_appended_to() {
        use std::io::Write as _;
        let mut file = nameless().unwrap();
        file.try_clone().unwrap().write_all(b"one ").unwrap();
        file.write_all(b"two").unwrap();
        let mut text = [0; 7];
        file.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"one two");
    }
}
