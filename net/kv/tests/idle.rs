//! Ten thousand idle clients: memory and CPU time.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const CLIENTS: usize = 10_000;
/// Memory of the server per idle client.
const BYTES_PER_CLIENT: usize = 8 << 10;
/// CPU time of the server in a second in which no client is active.
const IDLE_CPU: Duration = Duration::from_millis(200);

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start() -> (Program, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netdyno-kv"))
        .args(["--port", "0", "--maxclients", "12000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("listening on")).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let address = line.split(' ').find_map(|word| word.trim_end_matches(';').parse().ok()).unwrap();
    (Program(child), address)
}

fn resident_bytes(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() << 10
}

fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn exchange(stream: &mut TcpStream, request: &[u8], reply: &[u8]) {
    stream.write_all(request).unwrap();
    let mut found = vec![0; reply.len()];
    stream.read_exact(&mut found).unwrap();
    assert_eq!(found, reply);
}

#[test]
fn ten_thousand_idle_clients_cost_little() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = CLIENTS as u64 + 100;
    if limit.maximum.is_some_and(|maximum| maximum < wanted + 2000) {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {wanted} open files");
        return println!("skipped: needs {wanted} open files");
    }
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    let (program, address) = start();
    let pid = program.0.id();
    let before = resident_bytes(pid);
    let mut idle: Vec<TcpStream> = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        let mut stream = TcpStream::connect(address).unwrap();
        exchange(&mut stream, b"PING\r\n", b"+PONG\r\n");
        idle.push(stream);
    }
    let growth = resident_bytes(pid).saturating_sub(before);
    assert!(growth < CLIENTS * BYTES_PER_CLIENT, "{} bytes per client", growth / CLIENTS);
    let used = cpu_time(pid);
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_time(pid).saturating_sub(used);
    assert!(used < IDLE_CPU, "an idle second takes {used:?} of CPU time");
    // All of them are still connected.
    for stream in &mut idle {
        exchange(stream, b"PING\r\n", b"+PONG\r\n");
    }
}
