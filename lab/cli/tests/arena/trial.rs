//! A trial of one role, and ways to find remaining processes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use netdyno_lab_arena::{
    AgentEvent, Arena, ArenaError, ArenaSpec, Exit, LaunchSpec, LinkEnd, RoleIndex, RoleProcess,
};
use netdyno_lab_manifest::Net;

/// A guard against hanging: only failing tests reach it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_netdyno");
pub(crate) const MARK: &str = "NETDYNO_TEST_MARK";

pub(crate) fn spec_of(net: Net, binary: &str) -> ArenaSpec {
    ArenaSpec { executable: binary.into(), ..ArenaSpec::local(net) }
}

pub(crate) fn spec(net: Net) -> ArenaSpec {
    spec_of(net, BINARY)
}

/// The arena, or `None` if this machine does not permit it and it is not required.
pub(crate) fn open(net: Net) -> Option<Arena> {
    match Arena::open(&spec(net)) {
        Ok(arena) => Some(arena),
        Err(ArenaError::NotPermitted { reason }) => skip(&format!("network namespaces ({reason})")),
        Err(ArenaError::Missing { reason }) => skip(&reason),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn skip<T>(needed: &str) -> Option<T> {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {needed}");
    println!("skipped: needs {needed}");
    None
}

/// Whether the test may enter namespaces itself, or `None`: only its own agents may enter an unprivileged arena.
pub(crate) fn as_root() -> Option<()> {
    if nix::unistd::geteuid().is_root() { Some(()) } else { skip("root") }
}

/// A trial of one role, whose processes have a mark in their environment.
pub(crate) struct Trial {
    pub(crate) arena: Arena,
    pub(crate) role: Option<RoleProcess>,
    pub(crate) events: Receiver<(RoleIndex, AgentEvent)>,
    pub(crate) mark: String,
    pub(crate) pid: i32,
    pub(crate) notes: Vec<String>,
    pub(crate) memory_limited: bool,
}

pub(crate) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn shell(script: &str, mark: &str) -> LaunchSpec {
    let mut launch = LaunchSpec::new(0, vec!["/bin/sh".into(), "-c".into(), script.into()], "/".into());
    launch.env.push((MARK.into(), mark.into()));
    launch
}

impl Trial {
    pub(crate) fn new(arena: Arena, script: &str) -> Self {
        Self::with(arena, script, |_| {})
    }

    pub(crate) fn with(arena: Arena, script: &str, change: impl FnOnce(&mut LaunchSpec)) -> Self {
        let (sender, events) = channel();
        let mark = new_mark();
        let mut launch = shell(script, &mark);
        change(&mut launch);
        let role = Some(arena.launch(launch, sender).unwrap());
        let mut trial = Self { arena, role, events, mark, pid: 0, notes: Vec::new(), memory_limited: false };
        match trial.next() {
            AgentEvent::Started { pid, notes, memory_limited } => {
                (trial.pid, trial.notes, trial.memory_limited) = (pid, notes, memory_limited);
            }
            other => panic!("{other:?}"),
        }
        trial
    }

    pub(crate) fn role(&mut self) -> &mut RoleProcess {
        self.role.as_mut().unwrap()
    }

    pub(crate) fn next(&self) -> AgentEvent {
        self.events.recv_timeout(PATIENCE).unwrap().1
    }

    pub(crate) fn line(&self) -> String {
        loop {
            match self.next() {
                AgentEvent::Line { text } => return text,
                AgentEvent::Meter { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn last(&self) -> AgentEvent {
        std::iter::from_fn(|| Some(self.next())).find(AgentEvent::is_last).unwrap()
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.last() {
            AgentEvent::Exited(exit) => *exit,
            other => panic!("{other:?}"),
        }
    }

    /// Drops everything in order and checks that nothing remains.
    pub(crate) fn finish(mut self) {
        let nets: Vec<PathBuf> =
            [LinkEnd::A, LinkEnd::B].iter().filter_map(|&side| self.arena.net_path(side)).collect();
        let nets: HashSet<PathBuf> = nets.iter().map(|path| fs::read_link(path).unwrap()).collect();
        let agent = self.role().agent_pid();
        let cgroups = of_processes(cgroups_of(std::process::id()), &marked(&self.mark));
        drop(self.role.take());
        assert_eq!(marked(&self.mark), [0; 0], "processes left");
        let left: Vec<&PathBuf> = cgroups.iter().filter(|dir| dir.exists()).collect();
        assert!(left.is_empty(), "cgroups left: {left:?}");
        assert!(!Path::new(&format!("/proc/{agent}")).exists(), "agent left");
        drop(self.arena);
        // The supervisor of a killed agent ends by itself shortly afterwards.
        eventually("the namespaces are gone", || users_of(&nets) == 0);
    }
}

/// The processes with the mark in their environment.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let needle = format!("{MARK}={mark}\0");
    pids()
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(needle.len()).any(|window| window == needle.as_bytes())
        })
        .collect()
}

pub(crate) fn users_of(nets: &HashSet<PathBuf>) -> usize {
    pids()
        .filter(|pid| fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|net| nets.contains(&net)))
        .count()
}

pub(crate) fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every cgroup directory of this lab, in any hierarchy.
pub(crate) fn cgroups_of(lab: u32) -> Vec<PathBuf> {
    fn walk(dir: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(prefix) {
                    found.push(entry.path());
                }
                walk(&entry.path(), prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), &format!("netdyno-{lab}-"), &mut found);
    found
}

/// Those with one of the processes.
fn of_processes(mut cgroups: Vec<PathBuf>, pids: &[i32]) -> Vec<PathBuf> {
    cgroups.retain(|dir| {
        let members = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        members.lines().any(|member| pids.iter().any(|pid| pid.to_string() == member))
    });
    cgroups
}

pub(crate) fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !check() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn kill(pid: impl ToString) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}
