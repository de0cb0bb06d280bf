//! The command-line tool as a process.
#![allow(dead_code, unreachable_pub)]

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub const TOOL: &str = env!("CARGO_BIN_EXE_netdyno-mjpeg");
/// Bounds a test if a process hangs.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed when dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub fn tool(arguments: &[&str]) -> Self {
        Self(Command::new(TOOL).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Sends SIGINT.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
    }

    pub fn wait(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

/// Starts `receive --json` at a free port. Returns the process, its lines of stdout and its address.
pub fn receive(arguments: &[&str]) -> (Running, impl Iterator<Item = Value> + use<>, String) {
    let mut receive = Running::tool(&[&["--json", "receive", "--listen", "127.0.0.1:0"], arguments].concat());
    let lines = BufReader::new(receive.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let address = lines.next().unwrap()["listening"].as_str().unwrap().to_owned();
    (receive, lines, address)
}

/// An even free port whose successor is free too, for programs that cannot report a system-chosen port.
pub fn free_port() -> u16 {
    loop {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        if port.is_multiple_of(2) && UdpSocket::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
}

/// Reports a missing requirement of a test, or fails if all tests are required.
pub fn skip(requirement: &str) {
    assert!(std::env::var_os("NETDYNO_REQUIRE").is_none_or(|all| all != "all"), "needs {requirement}");
    println!("skipped: needs {requirement}");
}
