//! A headless Chromium, controlled by the DevTools protocol over two pipes: JSON messages terminated by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Bounds a test if the browser hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A browser process that is killed when dropped.
pub(crate) struct Browser {
    process: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    session: Option<String>,
    calls: u64,
    /// Errors reported by the page.
    pub(crate) complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser with an empty page. Without Chromium, it returns `None`, or panics with `NETDYNO_REQUIRE=all`.
    pub(crate) fn start() -> Option<Self> {
        if !Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success()) {
            assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "chromium is not installed");
            println!("skipped: needs chromium");
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads from descriptor 3 and writes to descriptor 4. Its sandbox does not work as root.
        let line = "exec chromium --headless --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe --user-data-dir=\"$1\" \
            about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut process = Command::new("sh")
            .args(["-c", line, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in stdout.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let (complaints, session) = (Vec::new(), None);
        let mut browser = Self { process, stdin, messages, session, calls: 0, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a method and returns its result or the browser's error.
    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(&[message.to_string().as_bytes(), &[0]].concat()).unwrap();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message =
                self.messages.recv_timeout(left).unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == self.calls {
                return message
                    .get("error")
                    .map_or_else(|| Ok(message["result"].clone()), |e| Err(e.clone()));
            }
            let is_complaint = match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Log.entryAdded") => message["params"]["entry"]["level"] == "error",
                _ => false,
            };
            if is_complaint {
                self.complaints.push(message["params"].to_string());
            }
        }
    }

    /// Evaluates a JavaScript expression.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        self.value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn value(&mut self, expression: &str) -> Result<Value, Value> {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.ask("Runtime.evaluate", parameters)?;
        result
            .get("exceptionDetails")
            .map_or_else(|| Ok(result["result"]["value"].clone()), |e| Err(e.clone()))
    }

    /// Repeats an action until an expression is true.
    pub(crate) fn wait_until(&mut self, expression: &str, mut meanwhile: impl FnMut()) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            // During navigation, the page may have no response or no body.
            let value = self.value(expression);
            if value == Ok(json!(true)) {
                return;
            }
            assert!(Instant::now() < deadline, "never: {expression}: {value:?}");
            meanwhile();
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends when its pipe closes.
        self.stdin = None;
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
