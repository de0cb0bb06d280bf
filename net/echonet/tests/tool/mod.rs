//! Runs the tool and reads its output.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

pub(crate) const TOOL: &str = env!("CARGO_BIN_EXE_netdyno-echonet");

const HOME: &str = r#"
[[nodes]]
count = 3
address = "127.1.0.1"
manufacturer = "00000B"
unique = "light"
[[nodes.objects]]
class = "0291"
properties.operation_status = "on"
properties.light_level = 100
"#;

/// A running tool, stopped when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Receiver<String>,
}

fn read_lines(out: ChildStdout) -> Receiver<String> {
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
    });
    lines
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(Command::new(TOOL).args(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = read_lines(child.stdout.take().unwrap());
        Self { child, lines }
    }

    pub(crate) fn home(folder: &tempfile::TempDir) -> Self {
        Self::home_with(folder, &[])
    }

    pub(crate) fn home_with(folder: &tempfile::TempDir, options: &[&str]) -> Self {
        let path = folder.path().join("home.toml");
        std::fs::File::create(&path).unwrap().write_all(HOME.as_bytes()).unwrap();
        let verb = ["--interface", "lo", "--json", "simulate", path.to_str().unwrap()];
        let mut home = Self::start(&[&verb, options].concat());
        let message = home.line();
        assert_eq!((&message["nodes"], &message["tcp"]), (&3.into(), &options.contains(&"--tcp").into()));
        home
    }

    #[track_caller]
    pub(crate) fn line(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("a line in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// The first line on stderr, if that is a pipe.
    pub(crate) fn remark(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Interrupts it like Ctrl-C.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs it to completion: exit code, stdout, stderr.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let all = [&["--interface", "lo", "--address", "127.0.0.1"], arguments].concat();
    let output = Command::new(TOOL).args(all).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
