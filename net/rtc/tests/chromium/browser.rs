//! A headless Chromium, driven through a Node program that speaks JSON lines.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// For every operation of a browser on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOCK_FILE: &str = "package-lock.json";
const FILES: [(&str, &str); 4] = [
    ("driver.mjs", include_str!("driver.mjs")),
    ("page.js", include_str!("page.js")),
    ("package.json", include_str!("package.json")),
    (LOCK_FILE, include_str!("package-lock.json")),
];

/// A running browser. Dropping it ends the browser.
pub(crate) struct Browser {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Events of the page that have not been taken yet.
    events: Vec<Value>,
    calls: u64,
}

impl Browser {
    /// Starts a browser. Without one: `None`, or a failed test if `NETDYNO_REQUIRE=all`.
    pub(crate) fn start(flags: &[&str]) -> Option<Self> {
        let started = installed().and_then(|(folder, chromium)| Self::launch(&folder, &chromium, flags));
        match started {
            Ok(browser) => Some(browser),
            Err(reason) => {
                assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "{reason}");
                println!("skipped: {reason}");
                None
            }
        }
    }

    fn launch(folder: &Path, chromium: &Path, flags: &[&str]) -> Result<Self, String> {
        let mut process = Command::new("node")
            .arg(folder.join("driver.mjs"))
            .arg(chromium)
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("node: {e}"))?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().ok_or("node has no stdout")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { process, stdin, lines, events: Vec::new(), calls: 0 };
        let version = browser.expect(&[("type", json!("ready"))]);
        println!("Chromium {}", version["version"]);
        Ok(browser)
    }

    /// Calls a function of the page and returns its result.
    pub(crate) fn call(&mut self, function: &str, arguments: Value) -> Value {
        self.calls += 1;
        let line = json!({ "id": self.calls, "call": function, "arguments": arguments });
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.line(deadline, || format!("no answer to {function}"));
            if line["id"] == self.calls {
                assert!(line.get("error").is_none(), "{function}: {}", line["error"]);
                return line["value"].clone();
            }
        }
    }

    /// Waits for an event with these fields and takes it.
    pub(crate) fn expect(&mut self, fields: &[(&str, Value)]) -> Value {
        let is_it = |event: &Value| fields.iter().all(|(name, value)| event[name] == *value);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.events.iter().position(is_it) {
                return self.events.remove(at);
            }
            self.line(deadline, || format!("no event {fields:?}"));
        }
    }

    /// The next reply; events are kept.
    fn line(&mut self, deadline: Instant, what: impl FnOnce() -> String) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(line) = self.lines.recv_timeout(left) else {
            panic!("{}; events: {:#?}", what(), self.events);
        };
        if let Some(event) = line.get("event") {
            assert_ne!(event["type"], "pageerror", "{event}");
            self.events.push(event.clone());
        }
        line
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser when its stdin ends.
        self.stdin = None;
        let _ = self.process.wait();
    }
}

/// The folder of the driver with its packages, and the browser.
pub(crate) fn installed() -> Result<(PathBuf, PathBuf), String> {
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = ONCE.lock().unwrap_or_else(|e| e.into_inner());
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let chromium = std::env::split_paths(&paths)
        .map(|folder| folder.join("chromium"))
        .find(|path| path.is_file())
        .ok_or("chromium is not installed")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium-driver");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let mut is_new = !folder.join("node_modules").exists();
    for (file, text) in FILES {
        if fs::read_to_string(folder.join(file)).ok().as_deref() != Some(text) {
            is_new |= file == LOCK_FILE;
            fs::write(folder.join(file), text).map_err(|e| e.to_string())?;
        }
    }
    if is_new {
        let install = Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(&folder)
            .stdout(Stdio::null())
            .status();
        match install {
            Ok(status) if status.success() => {}
            other => return Err(format!("npm ci in {}: {other:?}", folder.display())),
        }
    }
    Ok((folder, chromium))
}
