//! The lab's hold on one role: its agent, and through that its contender.

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

/// Which role an event is of: its index in the workload's list.
pub type RoleIndex = usize;

/// What to start for a role.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// Its index in the workload's list of roles.
    pub role: RoleIndex,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Added to the environment that the agent itself has.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The CPUs that it may use; `None`: those of the agent.
    pub cpus: Option<Vec<usize>>,
    /// How much memory it may use, if that is limited.
    pub memory_limit_bytes: Option<u64>,
    /// Which end of the network is its own.
    pub side: Side,
    /// Whether it gets a PID namespace, where that is permitted. Without one it can be traced by number from outside.
    pub private_pids: bool,
    /// How it may be frozen.
    pub freezing: Freezing,
    /// The process that is started only starts the program that counts: its own memory is left out.
    pub is_adapter: bool,
}

impl LaunchSpec {
    /// A role with neither CPU set nor memory limit, on side A.
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

/// A role that has been launched. Dropping it kills the contender, with everything that it started, and waits for that.
///
/// Events arrive in the channel given to [`Arena::launch`](super::Arena::launch); [`AgentEvent::is_last`] says which is
/// the last one. What is sent to a role that has ended is an error of kind `BrokenPipe`, which may be ignored: the last
/// event says all.
#[derive(Debug)]
pub struct RoleProcess {
    role: RoleIndex,
    agent: Child,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    /// To be removed by us should the agent be killed; an agent elsewhere is out of our reach.
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
        // An agent that cannot even be told what to do has ended; its reader will say so.
        let _ = process.send(&LabCommand::Launch(Box::new(launch)));
        let reader = std::thread::Builder::new().name(format!("role {role}")).spawn(move || {
            let last = stdout.map_or_else(lost, |stdout| forward(stdout, role, &events));
            // A lab that has dropped its receiver no longer wants to know.
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

    /// The agent's process id, on the host that the launcher's command runs on.
    #[must_use]
    pub fn agent_pid(&self) -> u32 {
        self.agent.id()
    }

    /// Passes a line to the contender's stdin. `text` has no newline.
    pub fn send_line(&mut self, text: &str) -> io::Result<()> {
        self.send(&LabCommand::Line { text: text.to_owned() })
    }

    /// Asks for a [`AgentEvent::Meter`] with this id. `deep` readings stop the contender for as long as the kernel walks
    /// its page tables: keep them out of timed windows.
    pub fn meter(&mut self, id: u64, deep: bool) -> io::Result<()> {
        self.send(&LabCommand::Meter { id, deep })
    }

    /// Freezes the contender, all of its processes, or lets it go on; [`AgentEvent::Frozen`] says when that is so.
    pub fn freeze(&mut self, frozen: bool) -> io::Result<()> {
        self.send(&LabCommand::Freeze { frozen })
    }

    /// Kills the contender and everything that it started; [`AgentEvent::Exited`] follows.
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
        // The end of its stdin is all that an agent needs to end everything.
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

/// Waits for a process that has been told to end, and kills it if it does not.
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

/// Passes on all events but the last, and answers that.
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
            // An agent that was killed in the middle of a line.
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
