//! The role `server` of the `kv` workload, for a library in the adapter's process and for an external program, which is a
//! child of the adapter and ends with it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::json;

use super::limits::{PROGRAM_END_LIMIT, PROGRAM_START_LIMIT};
use super::{GET_SETUP, NULL};
use crate::{Event, Lab, Setup, end, now_ns};

const ROLE: &str = "server";
/// Interval of polling a program that is starting or ending.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The role `server` before it accepts connections.
#[derive(Debug)]
pub struct Server {
    /// For `ready`.
    pub lab: Lab,
    /// The address to listen at.
    pub local: IpAddr,
    /// Maximum number of open connections.
    pub connections: u64,
    events: Receiver<Event>,
}

/// The configuration of an external program.
#[derive(Debug)]
pub struct Place {
    /// The address to listen at.
    pub address: SocketAddr,
    /// Connections that will be open at once.
    pub connections: u64,
    /// An empty working folder. It is deleted when the program accepts connections.
    pub folder: PathBuf,
}

impl Server {
    /// Reads the setup. Another role is `unsupported`.
    pub fn connect() -> Self {
        let (lab, Setup { role, local, params, .. }, events) = Lab::connect();
        if role != ROLE {
            lab.unsupported(format!("the role `{role}`; this contender has only `{ROLE}`"));
        }
        Self { lab, local, connections: params.int("connections"), events }
    }

    /// Reports that the library accepts connections at this port, and answers the lab until `stop`.
    pub fn listens(&self, port: u16) -> ! {
        self.answer(port);
        end(0)
    }

    /// Starts a program, waits until it answers, and ends it on `stop`. The program also ends if this process ends for any
    /// other reason.
    pub fn runs(&self, name: &str, command: impl FnOnce(&Place) -> Command) -> ! {
        let failed =
            |what: &str, error: io::Error| -> ! { self.lab.failed(format!("{name}: {what}: {error}")) };
        let place = Place {
            address: free_address(self.local).unwrap_or_else(|e| failed("no free port", e)),
            connections: self.connections,
            folder: fresh_folder().unwrap_or_else(|e| failed("no temporary folder", e)),
        };
        let mut command = command(&place);
        let started = start(&mut command, &place.folder);
        let mut child = started.unwrap_or_else(|e| {
            // Only the empty folder remains.
            let _ = fs::remove_dir_all(&place.folder);
            failed("cannot start", e)
        });
        let answered = await_answer(&mut child, place.address);
        // The program stores nothing there, and deleting the folder now leaves nothing behind.
        let _ = fs::remove_dir_all(&place.folder);
        if let Err(why) = answered {
            let _ = child.kill();
            self.lab.failed(format!("{name}: {why}"));
        }
        let stopping = Arc::new(AtomicBool::new(false));
        watch(self.lab, name.to_owned(), child.id(), Arc::clone(&stopping));
        self.answer_before(place.address.port(), || {
            stopping.store(true, SeqCst);
            finish(&mut child);
        });
        end(0)
    }

    fn answer(&self, port: u16) {
        self.answer_before(port, || {});
    }

    /// Answers the lab, and calls `at_stop` before the result.
    fn answer_before(&self, port: u16, at_stop: impl FnOnce()) {
        self.lab.signal("load", json!({ "port": port }));
        self.lab.connected(&[]);
        for event in &self.events {
            match event {
                Event::Mark { id } => self.lab.counters(id, &[]),
                Event::Stop => break,
                Event::Signal { .. } | Event::Start(_) => {}
            }
        }
        at_stop();
        self.lab.result(&[]);
    }
}

/// Returns the version after `v=` in the output of `program --version`, as printed by Redis and its forks.
pub fn version_of(program: &str) -> Result<String, String> {
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = asked.map_err(|e| format!("{program} --version: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    version.map(str::to_owned).ok_or_else(|| format!("{program} --version prints no `v=`: {}", text.trim()))
}

/// Returns a free port. It stays free until the program binds it, provided the trial has a private network.
fn free_address(local: IpAddr) -> io::Result<SocketAddr> {
    TcpListener::bind((local, 0))?.local_addr()
}

/// Creates a folder with a unique name. Process ids repeat, because a role may have its own PID namespace.
fn fresh_folder() -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("netdyno-{}-{}", std::process::id(), now_ns()));
    fs::create_dir(&folder)?;
    Ok(folder)
}

/// Starts the program with its output in our log. The kernel kills it if this process dies.
fn start(command: &mut Command, folder: &Path) -> io::Result<Child> {
    command.current_dir(folder).stdin(Stdio::null()).stdout(io::stderr()).stderr(Stdio::inherit());
    // SAFETY: between fork and exec only prctl is called, which is safe there and takes no pointer.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn()
}

fn await_answer(child: &mut Child, address: SocketAddr) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Err(format!("ended before it answered: {status}"));
        }
        match is_answered(address) {
            Ok(true) => return Ok(()),
            Ok(false) => {
                return Err("GET of an unwritten key returned something else than null".to_owned());
            }
            Err(error) if begun.elapsed() > PROGRAM_START_LIMIT => {
                let limit = PROGRAM_START_LIMIT.as_secs();
                return Err(format!("no answer within {limit} s: {error}"));
            }
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn is_answered(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PROGRAM_START_LIMIT)?;
    stream.set_read_timeout(Some(PROGRAM_START_LIMIT))?;
    stream.write_all(GET_SETUP)?;
    let mut answer = [0; NULL.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer == NULL)
}

/// Reports `failed` if the program ends by itself. The waiting thread uses no CPU time.
fn watch(lab: Lab, name: String, child: u32, stopping: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        // SAFETY: a zeroed siginfo_t is valid, and waitid writes only to it. WNOWAIT leaves the child waitable.
        let waited = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, child, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if waited == 0 && !stopping.load(SeqCst) {
            lab.failed(format!("{name} ended by itself"));
        }
    });
}

/// Sends SIGTERM, then SIGKILL.
fn finish(child: &mut Child) {
    if let Ok(pid) = libc::pid_t::try_from(child.id()) {
        // SAFETY: kill takes no pointer. The child has not been waited for, so the id is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
    let begun = Instant::now();
    while begun.elapsed() < PROGRAM_END_LIMIT {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    // The child may have ended by now.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (Child, PathBuf) {
        let folder = fresh_folder().unwrap();
        let child = start(Command::new("sh").args(["-c", script]), &folder).unwrap();
        (child, folder)
    }

    #[test]
    fn a_program_that_ends_or_answers_wrongly_is_an_error() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in [&b"-ERR no\r\n"[..], NULL] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; GET_SETUP.len()]).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        let (mut child, folder) = shell("sleep 60");
        assert!(await_answer(&mut child, address).unwrap_err().contains("something else"));
        assert_eq!(await_answer(&mut child, address), Ok(()));
        finish(&mut child);
        assert!(child.try_wait().unwrap().is_some());
        fs::remove_dir(folder).unwrap();
        let (mut child, folder) = shell("exit 3");
        let nobody = free_address(IpAddr::from([127, 0, 0, 1])).unwrap();
        assert!(await_answer(&mut child, nobody).unwrap_err().contains("exit status: 3"));
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed() {
        let (mut child, folder) = shell("trap '' TERM; while true; do sleep 1; done");
        std::thread::sleep(Duration::from_millis(50));
        finish(&mut child);
        assert!(child.try_wait().unwrap().is_some());
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_missing_version_is_an_error() {
        assert!(version_of("true").unwrap_err().contains("no `v=`"));
        assert!(version_of("/nowhere/at/all").unwrap_err().contains("/nowhere"));
    }
}
