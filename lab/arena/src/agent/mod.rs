//! The hidden verb `agent`: starts a contender, relays its lines, reads its meter, and removes all its processes.
//!
//! It has one thread, which sleeps in poll(2): while a trial is measured and no messages flow, it uses no CPU time.
//! Its stdin is the lab's; when that closes, the agent and all processes below it end.

mod contender;
mod relay;
mod stream;
mod supervisor;

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use nix::sched::{CloneFlags, setns};

use super::cgroup::{self, Cgroup};
use super::error::failed;
use super::freezer::Freezer;
use super::limits::{MAX_CONTROL_LINE_BYTES, READ_BYTES};
use super::messages::{AgentEvent, LabCommand, Launch, Namespaces, write_line};
use super::sys;
use crate::meter::{CpuSource, Meter, Tree};
use contender::Contender;
use relay::Agent;
use stream::{LineBuffer, LineTooLong};

/// Runs the agent on stdin and stdout. The process must be single-threaded.
pub fn run() -> io::Result<()> {
    sys::ignore_sigpipe()?;
    let mut commands = LineBuffer::new(MAX_CONTROL_LINE_BYTES);
    let Some(line) = first_line(&mut commands)? else {
        // The lab closed stdin before it sent anything.
        return Ok(());
    };
    let launch = match serde_json::from_slice(&line) {
        Ok(LabCommand::Launch(launch)) => launch,
        Ok(_) => return send(&AgentEvent::failed("the first command must be `launch`")),
        Err(error) => return send(&AgentEvent::failed(format!("cannot parse `launch`: {error}"))),
    };
    let mut cgroup = Cgroup::create(&launch.cgroup, &launch.spec);
    let last = match begin(&launch, &mut cgroup, commands) {
        Ok(mut agent) => agent.relay(&cgroup),
        Err(reason) => AgentEvent::failed(reason),
    };
    cgroup.kill();
    cgroup::remove(&launch.cgroup);
    // The lab may have ended.
    let _ = send(&last);
    Ok(())
}

/// Reads without `Stdin`'s buffer, which poll(2) does not see.
fn first_line(commands: &mut LineBuffer) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = [0; READ_BYTES];
    loop {
        let line =
            commands.take_line().map_err(|LineTooLong| io::Error::other("the first command is too long"))?;
        if line.is_some() {
            return Ok(line);
        }
        match nix::unistd::read(io::stdin().as_fd(), &mut buffer)? {
            0 => return Ok(None),
            count => commands.push(&buffer[..count]),
        }
    }
}

fn begin(launch: &Launch, cgroup: &mut Cgroup, commands: LineBuffer) -> Result<Agent, String> {
    let entrances = cgroup.entrances();
    if let Some(namespaces) = &launch.namespaces {
        enter(namespaces)?;
    }
    let mut contender = Contender::start(launch, entrances)?;
    cgroup.keep_entered(contender.pid);
    let mut notes = std::mem::take(&mut contender.notes);
    notes.append(&mut cgroup.notes);
    let tree = Tree { supervisor: contender.supervisor.as_raw(), cgroup_procs: cgroup.procs() };
    let cpu = match (&cgroup.v2, &cgroup.cpuacct) {
        (Some(dir), _) => CpuSource::CgroupV2(dir.join("cpu.stat")),
        (None, Some(dir)) => CpuSource::CgroupV1(dir.clone()),
        (None, None) => CpuSource::Processes,
    };
    let memory_limited = cgroup.memory.is_some();
    let started = AgentEvent::Started { pid: contender.pid, memory_limited, notes };
    let freezer = Freezer::of(cgroup, launch.spec.freezing);
    let adapter = launch.spec.is_adapter.then_some(contender.pid);
    let meter = Meter::new(tree, cpu, launch.net.clone(), adapter);
    send(&started).map_err(failed("telling the lab"))?;
    Ok(Agent::new(contender, meter, freezer, commands))
}

/// Opens both before entering either, since the user namespace revokes the right to open more.
fn enter(namespaces: &Namespaces) -> Result<(), String> {
    let open = |path: &Path| std::fs::File::open(path).map_err(failed(path.display()));
    let net = open(&namespaces.net)?;
    if let Some(user) = &namespaces.user {
        let user = open(user)?;
        setns(user, CloneFlags::CLONE_NEWUSER).map_err(failed("entering the user namespace"))?;
    }
    setns(net, CloneFlags::CLONE_NEWNET).map_err(failed("entering the network namespace"))
}

fn send(event: &AgentEvent) -> io::Result<()> {
    write_line(io::stdout().lock(), event)
}

fn kill_own_descendants() {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    crate::meter::descendants(own).iter().for_each(|process| sys::kill_quietly(process.pid()));
}
