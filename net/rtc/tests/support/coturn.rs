//! A coturn of a test's own, by UDP, whose log can be waited for.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{env, fs, io, thread};

/// Ends when dropped; tells what it said if that is because of a panic.
pub struct Coturn {
    process: Child,
    log: Arc<(Mutex<String>, Condvar)>,
    folder: PathBuf,
}

impl Coturn {
    /// Starts one for `user` ("name:password"), which relays by the address that it listens at; `extra` goes beside the options that all have, and `spawn`
    /// starts it, in whatever network. None, and a word about it, or a failed test if `NETDYNO_REQUIRE=all`, where there is none.
    pub fn start(
        address: SocketAddr,
        user: &str,
        extra: &[&str],
        spawn: impl FnOnce(&mut Command) -> io::Result<Child>,
    ) -> Option<Self> {
        let folder =
            env::temp_dir().join(format!("netdyno-coturn-{}-{}", std::process::id(), address.port()));
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("turnserver");
        command
            .args(["-n", "--no-cli", "--no-tls", "--no-dtls", "--lt-cred-mech", "--realm=netdyno"])
            .args(["--verbose", "--log-file=stdout", "--simple-log"])
            .arg(format!("--user={user}"))
            .arg(format!("--listening-ip={}", address.ip()))
            .arg(format!("--relay-ip={}", address.ip()))
            .arg(format!("--listening-port={}", address.port()))
            .arg(format!("--pidfile={}", folder.join("pid").display()))
            .arg(format!("--db={}", folder.join("db").display()))
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let Ok(mut process) = spawn(&mut command) else {
            let _ = fs::remove_dir_all(&folder);
            let why = "turnserver (Debian and Ubuntu: apt-get install coturn)";
            assert!(env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {why}");
            eprintln!("skipped: needs {why}");
            return None;
        };
        let log = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (stdout, written) = (process.stdout.take().unwrap(), log.clone());
        thread::spawn(move || {
            for line in io::BufRead::lines(io::BufReader::new(stdout)).map_while(Result::ok) {
                *written.0.lock().unwrap() += &(line + "\n");
                written.1.notify_all();
            }
        });
        let server = Self { process, log, folder };
        assert!(server.logs("Total General servers"), "it did not start");
        Some(server)
    }

    /// Waits until its log has this; false if it never has.
    pub fn logs(&self, text: &str) -> bool {
        let guard = self.log.0.lock().unwrap();
        let wait = self.log.1.wait_timeout_while(guard, Duration::from_secs(30), |log| !log.contains(text));
        !wait.unwrap().1.timed_out()
    }
}

impl Drop for Coturn {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
        if thread::panicking() {
            println!("coturn said:\n{}", self.log.0.lock().map(|log| log.clone()).unwrap_or_default());
        }
    }
}
