//! A role without network traffic, which counts as fast as one thread can. It measures the lab's overhead and, with
//! an injected fault, the lab's checks.

mod cost;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::ValueEnum;
pub(crate) use cost::Cost;

use netdyno_lab_arena::meter::monotonic_ns;
use netdyno_lab_manifest::Params;
use netdyno_lab_manifest::dummy::workload;
use netdyno_lab_protocol::{
    ContenderMessage, Counters, Implementation, LabMessage, Phase, Setup, TrialResult, Verified,
};

/// Arithmetic steps per message, enough for the loop to stay in registers.
pub(crate) const STEPS_PER_MESSAGE: u64 = 1000;
/// The count of the source, which exceeds that of any sink.
const PLENTY: u64 = 1 << 52;

/// Protocol violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DummyFault {
    /// Never sends `ready`.
    Mute,
    /// Ignores marks.
    Hang,
    /// Prints without end.
    Flood,
    /// Prints invalid JSON.
    Garbage,
    /// Dies by a signal while measuring.
    Crash,
    /// Leaves a process running.
    Orphan,
    /// Allocates without limit.
    Memory,
    /// Reports a wrong digest.
    WrongDigest,
    /// Reports too few messages.
    Fewer,
    /// Waits for a message that never arrives.
    Lost,
    /// The source reports fewer messages than were received.
    Overclaim,
    /// Reports only its best setup time.
    FewSetups,
    /// Counts microseconds instead of nanoseconds.
    SlowClock,
    /// Exits while measuring.
    Quit,
    /// Sends a message while measuring.
    Chatter,
    /// Does not exit after its result.
    Linger,
    /// Does not support its role.
    Unsupported,
    /// Sends a signal to a role that does not exist.
    Misdirect,
    /// Supports only parameters other than the defaults.
    Picky,
}

/// Plays a role until `stop` or the end of the lab.
pub(crate) fn play(fault: Option<DummyFault>, costs: &[Cost], steps: u64) -> ExitCode {
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let Some(Ok(LabMessage::Setup(setup))) = lines.next().map(|l| serde_json::from_str::<LabMessage>(&l))
    else {
        return failed("the first line is not a setup message");
    };
    let unsupported = |reason| {
        send(&ContenderMessage::Unsupported { reason });
        ExitCode::from(127)
    };
    if fault == Some(DummyFault::Unsupported) || !["source", "sink"].contains(&setup.role.as_str()) {
        return unsupported(format!("no role {:?} here", setup.role));
    }
    let usual = workload().params["message_bytes"].default.clone();
    let length = setup.params.get("message_bytes").and_then(serde_json::Value::as_f64);
    if fault == Some(DummyFault::Picky) && length == usual.number() {
        return unsupported(format!("message_bytes={usual}: another length"));
    }
    let costs = costs.to_vec();
    let dummy = Dummy { fault, costs, steps, sink: setup.role == "sink", setup, messages: Arc::default() };
    dummy.introduce();
    for line in lines {
        let ended = serde_json::from_str(&line).map(|message| dummy.handle(message));
        if let Some(code) = ended.unwrap_or_else(|e| Some(failed(&e.to_string()))) {
            return code;
        }
    }
    ExitCode::SUCCESS
}

struct Dummy {
    fault: Option<DummyFault>,
    costs: Vec<Cost>,
    steps: u64,
    sink: bool,
    setup: Setup,
    messages: Arc<AtomicU64>,
}

impl Dummy {
    fn introduce(&self) {
        match self.fault {
            Some(DummyFault::Mute) => return,
            Some(DummyFault::Garbage) => println!("{{\"type\": \"rea"),
            Some(DummyFault::Orphan) => leave_behind(),
            _ => {}
        }
        let implementation = Implementation {
            name: "dummy".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            language: "rust".to_owned(),
            runtime: "std".to_owned(),
        };
        send(&ContenderMessage::Ready { implementation });
        if self.fault == Some(DummyFault::Misdirect) {
            send(&ContenderMessage::Signal { to: "sunk".to_owned(), body: serde_json::Value::Null });
        }
        let streams = self.setup.params.get("streams").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let reported = if self.fault == Some(DummyFault::FewSetups) { 1 } else { streams };
        send(&ContenderMessage::Connected { setup_ns: (0..reported).map(|_| 1000).collect() });
    }

    fn handle(&self, message: LabMessage) -> Option<ExitCode> {
        match message {
            LabMessage::Start { phase } => self.start(phase),
            LabMessage::Mark { .. } if self.fault == Some(DummyFault::Hang) => None,
            LabMessage::Mark { id } => {
                let unit_ns = if self.fault == Some(DummyFault::SlowClock) { 1000 } else { 1 };
                let (at_ns, values) = (monotonic_ns() / unit_ns, self.values());
                send(&ContenderMessage::Counters(Counters { id, at_ns, values }));
                None
            }
            LabMessage::Stop => {
                let result = TrialResult { values: self.values(), ..TrialResult::default() };
                send(&ContenderMessage::Result(result));
                if self.fault == Some(DummyFault::Linger) {
                    std::thread::sleep(Duration::from_secs(3600));
                }
                Some(ExitCode::SUCCESS)
            }
            LabMessage::Setup(_) | LabMessage::Signal { .. } => None,
        }
    }

    fn start(&self, phase: Phase) -> Option<ExitCode> {
        match (phase, self.fault) {
            (Phase::Verify, _) if self.sink => self.verify(),
            (Phase::Warmup, _) if self.sink => self.spin(),
            (Phase::Measure, Some(DummyFault::Crash)) => {
                eprintln!("dummy: crashes as requested");
                std::process::abort()
            }
            (Phase::Measure, Some(DummyFault::Quit)) => return Some(ExitCode::from(3)),
            (Phase::Measure, Some(DummyFault::Flood)) => flood(),
            (Phase::Measure, Some(DummyFault::Chatter)) => {
                send(&ContenderMessage::Connected { setup_ns: vec![] })
            }
            (Phase::Measure, Some(DummyFault::Memory)) => {
                std::thread::spawn(take_memory);
            }
            _ => {}
        }
        None
    }

    /// Reports the digest that the lab computes, since a dummy receives nothing. With an input, reports the file's
    /// content.
    fn verify(&self) {
        if let Some(path) = self.setup.inputs.values().next() {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            return match serde_json::from_str::<Verified>(&text) {
                Ok(verified) => send(&ContenderMessage::Verified(verified)),
                Err(e) => send(&ContenderMessage::Failed { reason: format!("{path}: {e}") }),
            };
        }
        let workload = workload();
        // Ignore parameters of later versions.
        let mut known = self.setup.params.clone();
        known.retain(|name, _| workload.params.contains_key(name));
        let params = serde_json::from_value::<Params>(serde_json::Value::Object(known));
        let expected = params.ok().and_then(|p| workload.gate.expected(&p, self.setup.seed).ok());
        let Some(expected) = expected else {
            return send(&ContenderMessage::Failed { reason: "these parameters have no digest".to_owned() });
        };
        let mut verified =
            Verified { digest: expected.digest, messages: expected.messages, bytes: expected.bytes };
        match self.fault {
            Some(DummyFault::WrongDigest) => verified.digest = "0".repeat(64),
            Some(DummyFault::Fewer) => verified.messages -= 1,
            Some(DummyFault::Lost) => return self.messages.store(expected.messages - 1, Ordering::Relaxed),
            _ => {}
        }
        send(&ContenderMessage::Verified(verified));
    }

    /// Counts forever; only this thread writes the counter, so a plain store suffices.
    fn spin(&self) {
        let (messages, costs, steps) = (Arc::clone(&self.messages), self.costs.clone(), self.steps);
        std::thread::spawn(move || {
            let (mut n, mut x) = (0u64, 1u64);
            loop {
                for _ in 0..steps {
                    // Marsaglia's xorshift64: each step depends on the previous one.
                    x ^= x << 13;
                    x ^= x >> 7;
                    x ^= x << 17;
                }
                std::hint::black_box(x);
                costs.iter().for_each(|cost| cost.pay(x));
                n += 1;
                messages.store(n, Ordering::Relaxed);
            }
        });
    }

    fn values(&self) -> BTreeMap<String, u64> {
        let messages = match (self.sink, self.fault) {
            (true, _) => self.messages.load(Ordering::Relaxed),
            (false, Some(DummyFault::Overclaim)) => 0,
            (false, _) => PLENTY,
        };
        let counts =
            [("messages", messages), ("bytes", messages), ("gaps", 0), ("repeats", 0), ("disorder", 0)];
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }
}

fn send(message: &ContenderMessage) {
    let mut out = std::io::stdout().lock();
    // If the lab has ended, our stdin is closed as well.
    let _ = writeln!(out, "{}", message.to_line()).and_then(|()| out.flush());
}

fn failed(reason: &str) -> ExitCode {
    send(&ContenderMessage::Failed { reason: reason.to_owned() });
    ExitCode::FAILURE
}

/// Starts a process in its own process group that outlives this one.
fn leave_behind() {
    // Without `sleep`, no process is left, and the self-test fails.
    let _ =
        Command::new("sleep").arg("60").stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn();
}

/// Prints one endless line.
fn flood() {
    let mut out = std::io::stdout().lock();
    while out.write_all(&[b'x'; 1 << 16]).is_ok() {}
}

fn take_memory() {
    const STEP_BYTES: usize = 16 << 20;
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(vec![1; STEP_BYTES]);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_built_in_workload_is_valid() {
        assert_eq!(netdyno_lab_manifest::dummy::workload().roles, ["source", "sink"]);
    }
}
