//! redis-benchmark as a child process, which repeats one test. Its reports go to a file, and its errors are counted.

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
use crate::limits::{MAX_LINE_BYTES, MAX_PRINTED, MAX_REPORT_BYTES};
use crate::report::{Report, reports};
use crate::sockets::Sockets;

/// The name of the program, which is searched in the PATH.
pub const PROGRAM: &str = "redis-benchmark";
/// The start of a line that reports an error of the server; at most one per second.
const ERROR: &str = "Error from server";
/// The line after the report of each run.
const SUMMARY: &str = "latency summary (msec):";

pub struct Program {
    child: Child,
    run: Run,
    sockets: Sockets,
    /// The number of connections that this network namespace had opened before.
    opened: u64,
    reports: File,
    /// The offset in that file at which the measured window starts.
    measured_from: u64,
    stopping: Arc<AtomicBool>,
    errors: Option<JoinHandle<u64>>,
}

impl Program {
    /// Starts the program for this server.
    pub fn start(job: &Job, server: SocketAddr, run: Run) -> Result<Self, String> {
        let failed = |what: &str, error: io::Error| format!("{PROGRAM}: {what}: {error}");
        let reports = nameless().map_err(|e| failed("cannot create a file for reports", e))?;
        let out = reports.try_clone().map_err(|e| failed("no file for its reports", e))?;
        let sockets = Sockets::new(server)?;
        let opened = opened()?;
        let mut command = Command::new(PROGRAM);
        command.args(arguments(job, server, &run)).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed("cannot start", e))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stderr = child.stderr.take();
        let watched = Arc::clone(&stopping);
        let lab = job.lab;
        let errors = stderr.map(|stderr| spawn(move || watch(lab, stderr, &watched)));
        Ok(Self { child, run, sockets, opened, reports, measured_from: 0, stopping, errors })
    }

    /// Starts the measured window.
    pub fn measure(&mut self) -> Result<(), String> {
        self.measured_from = self.written()?;
        Ok(())
    }

    pub fn progress(&self) -> Result<Progress, String> {
        self.run.progress(|| Ok(opened()?.saturating_sub(self.opened)), || self.sockets.look())
    }

    /// Ends the program. Returns the reports of the measured window and the number of errors of the server. `runs` had finished
    /// before.
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
        // The program may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn written(&self) -> Result<u64, String> {
        let length = self.reports.metadata().map(|metadata| metadata.len());
        length.map_err(|e| format!("reports of {PROGRAM}: {e}"))
    }
}

/// The program's defaults, except the parameters of the workload. The test is repeated.
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

/// Checks the number of runs, which was derived from connections, against the reports: other processes in the network namespace
/// may also open connections. The last reports may be buffered in the program, or belong to a run that ended after the signal.
fn check_runs(text: &str, runs: u64) -> Result<(), String> {
    let reported = text.matches(SUMMARY).count() as u64;
    if reported.abs_diff(runs) > 2 {
        return Err(format!(
            "{PROGRAM} reported {reported} runs, but its connections indicate {runs}; do other processes connect in this network namespace?"
        ));
    }
    Ok(())
}

/// Creates an anonymous file, which is deleted when it is closed.
fn nameless() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("netdyno-reports-{}-{}", std::process::id(), now_ns()));
    let file = OpenOptions::new().read(true).append(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Counts and forwards the errors that the program prints. Reports `failed` if it ends by itself.
fn watch(lab: Lab, stderr: ChildStderr, stopping: &AtomicBool) -> u64 {
    let (mut lines, mut errors, mut printed) = (BufReader::new(stderr), 0, 0);
    let mut last = String::new();
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => last = String::from_utf8_lossy(&line).trim().to_owned(),
        }
        errors += u64::from(last.starts_with(ERROR));
        if printed < MAX_PRINTED {
            printed += 1;
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
    fn reports_and_runs_must_agree() {
        let text = format!("x {SUMMARY}\n").repeat(5);
        for (runs, good) in [(2, false), (3, true), (5, true), (7, true), (8, false)] {
            assert_eq!(check_runs(&text, runs).is_ok(), good, "{runs}");
        }
    }

    #[test]
    fn an_anonymous_file_is_appended_to() {
        use std::io::Write as _;
        let mut file = nameless().unwrap();
        file.try_clone().unwrap().write_all(b"one ").unwrap();
        file.write_all(b"two").unwrap();
        let mut text = [0; 7];
        file.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"one two");
    }
}
