//! Compiles and starts C programs, and talks to them through pipes.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod header;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Long enough for slow machines; only a failing test waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The shared and the static library, as built by cargo for these tests.
#[derive(Clone, Copy)]
pub(crate) enum Library {
    Shared,
    Static,
}

/// Options that make a use after free, a leak or an overflow abort the C program.
const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// The flags given in the README.
const FLAGS: [&str; 4] = ["-std=gnu17", "-Wall", "-Wextra", "-Werror"];

/// The sanitizer flags, if the compiler supports them.
pub(crate) fn sanitizers() -> &'static [&'static str] {
    let source = scratch("sanitizers").join(format!("none-{}.c", std::process::id()));
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let mut cc = Command::new("cc");
    let tried =
        cc.args(SANITIZERS).arg("-o").arg(source.with_extension("out")).arg(&source).output().unwrap();
    if has(tried.status.success(), "address and undefined behaviour sanitizers") { &SANITIZERS } else { &[] }
}

/// Whether a test's requirements are met. If not, the test is skipped, or fails if `NETDYNO_REQUIRE=all`.
pub(crate) fn has(it: bool, what: &str) -> bool {
    if !it {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {what}");
        println!("skipped: needs {what}");
    }
    it
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the built library, which is also that of this test.
pub(crate) fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A temporary folder for a test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rtc-c-{name}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{message}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles a program against the checked-in header.
pub(crate) fn compile(source: &Path, library: Library, flags: &[&str]) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // One at a time, because compiling needs memory and time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let name = format!("{}-{}", source.file_stem().unwrap().display(), COUNT.fetch_add(1, Ordering::Relaxed));
    let program = scratch("programs").join(format!("{name}-{}", std::process::id()));
    let mut cc = Command::new("cc");
    cc.args(FLAGS)
        .args(flags)
        .arg("-g")
        .arg("-I")
        .arg(folder().join("include"))
        .arg("-o")
        .arg(&program)
        .arg(source);
    match library {
        Library::Shared => {
            cc.arg("-L").arg(built()).arg("-lnetdyno_rtc_c");
            cc.arg(format!("-Wl,-rpath,{}", built().display()));
        }
        Library::Static => {
            cc.arg(built().join("libnetdyno_rtc_c.a")).args(["-lgcc_s", "-lm", "-lpthread", "-ldl"]);
        }
    }
    run(&mut cc);
    program
}

/// A running C program. It is killed when dropped.
pub(crate) struct Program {
    file: PathBuf,
    process: Child,
    stdin: Option<ChildStdin>,
    said: Receiver<String>,
}

impl Program {
    pub(crate) fn start(file: PathBuf, arguments: &[&str]) -> Self {
        let mut command = Command::new(&file);
        let mut process =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take().unwrap());
        let (says, said) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            while let Some(text) = read(&mut stdout)
                && says.send(text).is_ok()
            {}
        });
        Self { file, process, stdin, said }
    }

    /// The counterparts of `put` and `get` of pipe.h.
    pub(crate) fn put(&mut self, text: &str) {
        write!(self.stdin.as_mut().unwrap(), "{}\n{text}", text.len()).unwrap();
    }

    pub(crate) fn get(&mut self) -> String {
        let said = self.said.recv_timeout(PATIENCE);
        said.unwrap_or_else(|_| panic!("nothing came; it is {:?}", self.process.try_wait()))
    }

    /// The program exits on its own, with success.
    pub(crate) fn ends(mut self) {
        self.stdin = None;
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

/// The next text; `None` at the end of the output.
fn read(stdout: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    stdout.read_line(&mut line).ok()?;
    let mut text = vec![0; line.trim().parse().ok()?];
    stdout.read_exact(&mut text).ok()?;
    String::from_utf8(text).ok()
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has exited already, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// FNV-1a, as in pipe.h.
pub(crate) fn digest(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The hash of no bytes.
pub(crate) const NO_BYTES: u32 = 0x811c_9dc5;

/// Message `number` as peer.c generates it.
pub(crate) fn bytes(length: usize, number: usize) -> Vec<u8> {
    (0..length).map(|at| (number + 7 * at) as u8).collect()
}
