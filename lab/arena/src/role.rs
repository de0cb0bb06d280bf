//! The lab's side of a role: its agent and, through it, the contender.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::limits::{AGENT_EXIT_TIME, MAX_CONTROL_LINE_BYTES, RETRY_PAUSE};
use super::messages::{AgentEvent, LabCommand, Launch, write_line};
use super::{ArenaError, cgroup};

/// The role of an event: its index in the workload's list.
pub type RoleIndex = usize;

/// Receives the events of roles.
pub type EventSender = Sender<(RoleIndex, AgentEvent)>;

/// A launched role. Dropping it kills the contender with all its processes, and waits for their end.
///
/// Events arrive in the channel given to [`Arena::launch`](super::Arena::launch); [`AgentEvent::is_last`] identifies
/// the last one. Sending to an ended role fails with `BrokenPipe`, which may be ignored, since the last event has the
/// reason.
#[derive(Debug)]
pub struct RoleProcess {
    agent: Child,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    /// Removed by the lab if the agent was killed.
    cgroup: String,
}

impl RoleProcess {
    pub(super) fn launch(executable: &Path, launch: Launch, events: EventSender) -> Result<Self, ArenaError> {
        let role = launch.spec.role;
        let failed = |what| move |error| ArenaError::process(what, error);
        let mut agent = hidden_verb(executable, "agent").spawn().map_err(failed("starting an agent"))?;
        let (stdin, stdout) = (agent.stdin.take(), agent.stdout.take());
        let mut process = Self { agent, stdin, reader: None, cgroup: launch.cgroup.clone() };
        // If the agent has already ended, its reader reports that.
        let _ = process.send(&LabCommand::Launch(Box::new(launch)));
        let reader = std::thread::Builder::new().name(format!("role {role}")).spawn(move || {
            let last = stdout.map_or_else(lost, |stdout| forward(stdout, role, &events));
            // The lab may have dropped its receiver.
            let _ = events.send((role, last));
        });
        process.reader = Some(reader.map_err(failed("starting a reader"))?);
        Ok(process)
    }

    /// The agent's process id.
    pub fn agent_pid(&self) -> u32 {
        self.agent.id()
    }

    /// Sends a line to the contender's stdin. `text` has no newline.
    pub fn send_line(&mut self, text: &str) -> io::Result<()> {
        self.send(&LabCommand::Line { text: text.to_owned() })
    }

    /// Requests an [`AgentEvent::Meter`] with this id. `deep` readings stop the contender while the kernel walks its
    /// page tables: use them outside timed windows only.
    pub fn meter(&mut self, id: u64, deep: bool) -> io::Result<()> {
        self.send(&LabCommand::Meter { id, deep })
    }

    /// Freezes or thaws all processes of the contender; [`AgentEvent::Frozen`] follows.
    pub fn freeze(&mut self, frozen: bool) -> io::Result<()> {
        self.send(&LabCommand::Freeze { frozen })
    }

    /// Kills all processes of the contender; [`AgentEvent::Exited`] follows.
    pub fn kill(&mut self) -> io::Result<()> {
        self.send(&LabCommand::Kill)
    }

    fn send(&mut self, command: &LabCommand) -> io::Result<()> {
        write_line(self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, command)
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // Closing its stdin makes the agent end all processes.
        self.stdin = None;
        end_process(&mut self.agent, AGENT_EXIT_TIME);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        cgroup::remove(&self.cgroup);
    }
}

/// The command of a hidden verb of the program, with pipes.
pub(super) fn hidden_verb(executable: &Path, verb: &str) -> Command {
    let mut command = Command::new(executable);
    // In its own process group: Ctrl-C on the terminal reaches only the lab, which then ends everything in order.
    command.arg0("netdyno").arg(verb).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Waits for a process that was asked to end, and kills it after `time`.
pub(super) fn end_process(process: &mut Child, time: Duration) {
    let deadline = Instant::now() + time;
    while let Ok(None) = process.try_wait() {
        if Instant::now() >= deadline {
            tracing::warn!(pid = process.id(), "did not exit by itself; killed");
            let _ = process.kill();
            let _ = process.wait();
            return;
        }
        std::thread::sleep(RETRY_PAUSE);
    }
}

/// Forwards all events except the last, which is returned.
fn forward(stdout: ChildStdout, role: RoleIndex, events: &EventSender) -> AgentEvent {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        match stdout.by_ref().take(MAX_CONTROL_LINE_BYTES as u64).read_until(b'\n', &mut line) {
            Ok(0) => return lost(),
            Err(error) => return AgentEvent::failed(format!("reading from the agent: {error}")),
            Ok(_) => {}
        }
        match serde_json::from_slice::<AgentEvent>(&line) {
            // An agent that was killed while writing a line.
            Err(_) if line.last() != Some(&b'\n') => return lost(),
            Err(error) => return AgentEvent::failed(format!("cannot parse the agent's line: {error}")),
            Ok(event) if event.is_last() => return event,
            Ok(event) => drop(events.send((role, event))),
        }
    }
}

fn lost() -> AgentEvent {
    AgentEvent::failed("the agent ended without a message; it was killed or could not start")
}
