//! A role that does no network work: it counts as fast as one thread can. The measure of the lab's own cost, and, with a
//! fault, of what the lab catches. It knows its workload and nothing of who starts it.

mod cost;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::ValueEnum;
pub use cost::Cost;

use netdyno_lab_arena::meter::monotonic_ns;
use netdyno_lab_manifest::Params;
use netdyno_lab_manifest::dummy::workload;
use netdyno_lab_protocol::{
    ContenderMessage, Counters, Implementation, LabMessage, Phase, Setup, TrialResult, Verified,
};

/// Steps of arithmetic that make one message: enough that the loop lives in registers.
pub const STEPS_PER_MESSAGE: u64 = 1000;
/// What the source says that it sent: more than any sink can count.
const PLENTY: u64 = 1 << 52;

/// Ways to break the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// Never says `ready`.
    Mute,
    /// Answers no mark.
    Hang,
    /// Prints without end.
    Flood,
    /// Prints what is no JSON.
    Garbage,
    /// Dies by a signal while it measures.
    Crash,
    /// Leaves a process behind.
    Orphan,
    /// Takes memory without end.
    Memory,
    /// Says that it received something else.
    WrongDigest,
    /// Says that it received less.
    Fewer,
    /// Waits for a message that never comes.
    Lost,
    /// The source says that it sent less than was received.
    Overclaim,
    /// Tells the best of its setup times only.
    FewSetups,
    /// Counts microseconds where nanoseconds are asked for.
    SlowClock,
    /// Ends in the middle.
    Quit,
    /// Speaks while it is measured.
    Chatter,
    /// Never ends after its result.
    Linger,
    /// Does not play this role.
    Unsupported,
    /// Does its job with other parameters than the workload's own only.
    Picky,
}

/// Plays a role until the lab says `stop` or goes away, with so many steps a message.
#[must_use]
pub fn play(fault: Option<Fault>, costs: &[Cost], steps: u64) -> ExitCode {
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let Some(Ok(LabMessage::Setup(setup))) = lines.next().map(|l| serde_json::from_str::<LabMessage>(&l))
    else {
        return failed("the first line is no setup");
    };
    if fault == Some(Fault::Unsupported) || !["source", "sink"].contains(&setup.role.as_str()) {
        say(&ContenderMessage::Unsupported { reason: format!("no role {:?} here", setup.role) });
        return ExitCode::from(127);
    }
    let usual = workload().params["message_bytes"].default.clone();
    if fault == Some(Fault::Picky)
        && setup.params.get("message_bytes").and_then(serde_json::Value::as_f64) == usual.number()
    {
        say(&ContenderMessage::Unsupported { reason: format!("message_bytes={usual}: another length") });
        return ExitCode::from(127);
    }
    let costs = costs.to_vec();
    let dummy = Dummy { fault, costs, steps, sink: setup.role == "sink", setup, messages: Arc::default() };
    dummy.introduce();
    for line in lines {
        match serde_json::from_str::<LabMessage>(&line) {
            Ok(message) => {
                if let Some(code) = dummy.handle(message) {
                    return code;
                }
            }
            Err(e) => return failed(&e.to_string()),
        }
    }
    ExitCode::SUCCESS
}

struct Dummy {
    fault: Option<Fault>,
    costs: Vec<Cost>,
    steps: u64,
    sink: bool,
    setup: Setup,
    messages: Arc<AtomicU64>,
}

impl Dummy {
    fn introduce(&self) {
        match self.fault {
            Some(Fault::Mute) => return,
            Some(Fault::Garbage) => println!("{{\"type\": \"rea"),
            Some(Fault::Orphan) => leave_behind(),
            _ => {}
        }
        let implementation = Implementation {
            name: "dummy".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            language: "rust".to_owned(),
            runtime: "std".to_owned(),
        };
        say(&ContenderMessage::Ready { implementation });
        let streams = self.setup.params.get("streams").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let told = if self.fault == Some(Fault::FewSetups) { 1 } else { streams };
        say(&ContenderMessage::Connected { setup_ns: (0..told).map(|_| 1000).collect() });
    }

    fn handle(&self, message: LabMessage) -> Option<ExitCode> {
        match message {
            LabMessage::Start { phase } => self.start(phase),
            LabMessage::Mark { .. } if self.fault == Some(Fault::Hang) => None,
            LabMessage::Mark { id } => {
                let values = self.values();
                let unit_ns = if self.fault == Some(Fault::SlowClock) { 1000 } else { 1 };
                let at_ns = monotonic_ns() / unit_ns;
                say(&ContenderMessage::Counters(Counters { id, at_ns, values }));
                None
            }
            LabMessage::Stop => {
                say(&ContenderMessage::Result(TrialResult {
                    values: self.values(),
                    ..TrialResult::default()
                }));
                if self.fault == Some(Fault::Linger) {
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
            (Phase::Measure, Some(Fault::Crash)) => {
                eprintln!("dummy: crashes as asked");
                std::process::abort()
            }
            (Phase::Measure, Some(Fault::Quit)) => return Some(ExitCode::from(3)),
            (Phase::Measure, Some(Fault::Flood)) => flood(),
            (Phase::Measure, Some(Fault::Chatter)) => say(&ContenderMessage::Connected { setup_ns: vec![] }),
            (Phase::Measure, Some(Fault::Memory)) => {
                std::thread::spawn(take_memory);
            }
            _ => {}
        }
        None
    }

    /// The lab computes the same by itself: a dummy has nobody to receive from. Given an input, it says what stands in that file.
    fn verify(&self) {
        if let Some(path) = self.setup.inputs.values().next() {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            return match serde_json::from_str::<Verified>(&text) {
                Ok(verified) => say(&ContenderMessage::Verified(verified)),
                Err(e) => say(&ContenderMessage::Failed { reason: format!("{path}: {e}") }),
            };
        }
        let workload = workload();
        // What a later lab may add is none of ours.
        let mut known = self.setup.params.clone();
        known.retain(|name, _| workload.params.contains_key(name));
        let params = serde_json::from_value::<Params>(serde_json::Value::Object(known));
        let expected = params.ok().and_then(|p| workload.gate.expected(&p, self.setup.seed).ok());
        let Some(expected) = expected else {
            return say(&ContenderMessage::Failed { reason: "these parameters give no digest".to_owned() });
        };
        let mut verified =
            Verified { digest: expected.digest, messages: expected.messages, bytes: expected.bytes };
        match self.fault {
            Some(Fault::WrongDigest) => verified.digest = "0".repeat(64),
            Some(Fault::Fewer) => verified.messages -= 1,
            Some(Fault::Lost) => return self.messages.store(expected.messages - 1, Ordering::Relaxed),
            _ => {}
        }
        say(&ContenderMessage::Verified(verified));
    }

    /// Works for good; the counter is written in one place, so a plain store does.
    fn spin(&self) {
        let (messages, costs, steps) = (Arc::clone(&self.messages), self.costs.clone(), self.steps);
        std::thread::spawn(move || {
            let (mut n, mut x) = (0u64, 1u64);
            loop {
                for _ in 0..steps {
                    // Marsaglia's xorshift64: each step needs the one before.
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
            (false, Some(Fault::Overclaim)) => 0,
            (false, _) => PLENTY,
        };
        let zero = ["gaps", "repeats", "disorder"].map(|n| (n.to_owned(), 0));
        BTreeMap::from([("messages".to_owned(), messages), ("bytes".to_owned(), messages)])
            .into_iter()
            .chain(zero)
            .collect()
    }
}

fn say(message: &ContenderMessage) {
    let mut out = std::io::stdout().lock();
    // A lab that is gone closes our stdin too, which ends us.
    let _ = writeln!(out, "{}", message.to_line()).and_then(|()| out.flush());
}

fn failed(reason: &str) -> ExitCode {
    say(&ContenderMessage::Failed { reason: reason.to_owned() });
    ExitCode::FAILURE
}

/// Starts a process in a group of its own that outlives us.
fn leave_behind() {
    // Should there be no `sleep`, the lab finds nothing left behind, and the self-test says so.
    let _ =
        Command::new("sleep").arg("60").stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn();
}

/// One line without end.
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
