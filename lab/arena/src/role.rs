//! The lab's side of a role: its agent and, through it, the contender.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::launcher::{Launcher, Verb};
use super::limits::{AGENT_EXIT_TIME, MAX_CONTROL_LINE_BYTES, RETRY_PAUSE};
use super::messages::{AgentEvent, Freezing, LabCommand, Launch};
use super::{ArenaError, Side, cgroup};

/// The role of an event: its index in the workload's list.
pub type RoleIndex = usize;

/// The configuration of a role's process.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// Its index in the workload's list of roles.
    pub role: RoleIndex,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment variables added to those of the agent.
    pub env: Vec<(String, String)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The CPUs it may use; `None`: those of the agent.
    pub cpus: Option<Vec<usize>>,
    /// Its memory limit, if any.
    pub memory_limit_bytes: Option<u64>,
    /// Its end of the network.
    pub side: Side,
    /// Whether it gets a PID namespace, if permitted. Without one, it can be traced by number from outside.
    pub private_pids: bool,
    /// How it may be frozen.
    pub freezing: Freezing,
    /// The process only starts the program under test; its own memory is not counted.
    pub is_adapter: bool,
}

impl LaunchSpec {
    /// A role without CPU set and memory limit, on side A.
    #[must_use]
    pub fn new(role: RoleIndex, argv: Vec<String>, cwd: PathBuf) -> Self {
        let (env, cpus, memory_limit_bytes) = (Vec::new(), None, None);
        let (side, private_pids, freezing) = (Side::A, true, Freezing::default());
        Self {
            role,
            argv,
            env,
            cwd,
            cpus,
            memory_limit_bytes,
            side,
            private_pids,
            freezing,
            is_adapter: false,
        }
    }
}

/// A launched role. Dropping it kills the contender with all its processes, and waits for their end.
///
/// Events arrive in the channel given to [`Arena::launch`](super::Arena::launch); [`AgentEvent::is_last`] identifies
/// the last one. Sending to an ended role fails with `BrokenPipe`, which may be ignored, since the last event has the
/// reason.
#[derive(Debug)]
pub struct RoleProcess {
    role: RoleIndex,
    agent: Child,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    /// Removed by the lab if the agent was killed.
    cgroup: Option<String>,
}

impl RoleProcess {
    pub(super) fn launch(
        launcher: &dyn Launcher,
        role: RoleIndex,
        launch: Launch,
        events: Sender<(RoleIndex, AgentEvent)>,
    ) -> Result<Self, ArenaError> {
        let mut agent = launcher
            .command(Verb::Agent)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| ArenaError::process("starting an agent", error))?;
        let stdin = agent.stdin.take();
        let stdout = agent.stdout.take();
        let cgroup = launcher.is_local().then(|| launch.cgroup.clone());
        let mut process = Self { role, agent, stdin, reader: None, cgroup };
        // If the agent has already ended, its reader reports that.
        let _ = process.send(&LabCommand::Launch(Box::new(launch)));
        let reader = std::thread::Builder::new().name(format!("role {role}")).spawn(move || {
            let last = stdout.map_or_else(lost, |stdout| forward(stdout, role, &events));
            // The lab may have dropped its receiver.
            let _ = events.send((role, last));
        });
        process.reader = Some(reader.map_err(|error| ArenaError::process("starting a reader", error))?);
        Ok(process)
    }

    /// The role's index.
    #[must_use]
    pub fn role(&self) -> RoleIndex {
        self.role
    }

    /// The agent's process id.
    #[must_use]
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
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(&line)
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
        if let Some(cgroup) = &self.cgroup {
            cgroup::remove(cgroup);
        }
    }
}

/// Waits for a process that was asked to end, and kills it after `time`.
pub(super) fn end_process(process: &mut Child, time: Duration) {
    let deadline = Instant::now() + time;
    while let Ok(None) = process.try_wait() {
        if Instant::now() >= deadline {
            tracing::warn!(pid = process.id(), "did not end by itself, killed");
            let _ = process.kill();
            let _ = process.wait();
            return;
        }
        std::thread::sleep(RETRY_PAUSE);
    }
}

/// Forwards all events except the last, which is returned.
fn forward(stdout: ChildStdout, role: RoleIndex, events: &Sender<(RoleIndex, AgentEvent)>) -> AgentEvent {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = MAX_CONTROL_LINE_BYTES as u64;
        match stdout.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) => return lost(),
            Err(error) => return AgentEvent::Failed { reason: format!("reading from the agent: {error}") },
            Ok(_) => {}
        }
        match serde_json::from_slice::<AgentEvent>(&line) {
            // An agent that was killed while writing a line.
            Err(_) if line.last() != Some(&b'\n') => return lost(),
            Err(error) => {
                return AgentEvent::Failed { reason: format!("the agent's line is not understood: {error}") };
            }
            Ok(event) if event.is_last() => return event,
            Ok(event) => drop(events.send((role, event))),
        }
    }
}

fn lost() -> AgentEvent {
    AgentEvent::Failed {
        reason: "the agent ended without a word; it was killed, or could not start".to_owned(),
    }
}
