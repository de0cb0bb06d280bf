//! The arena, as seen by the lab: a holder of its network and its namespaces, in which roles start.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::holder::{FIRST_ADDRESS, FIRST_INTERFACE, SECOND_ADDRESS, SECOND_INTERFACE};
use super::limits::{HOLDER_EXIT_TIME, HOLDER_READY_TIME};
use super::messages::{Held, HolderAnswer, HolderPlan, Launch, Namespaces, Refusal, write_line};
use super::role::{end_process, hidden_verb};
use super::{ArenaError, ArenaSpec, EventSender, LaunchSpec, LinkEnd, RoleProcess, cgroup};
use crate::meter::NetScope;
use netdyno_lab_manifest::{Link, Net};

/// The smallest MTU that IPv4 allows, and the largest that a veth pair does.
const MTU_RANGE: std::ops::RangeInclusive<u32> = 68..=65_535;
/// Below this, a single packet takes more than a second.
const MIN_RATE_BITS_PER_S: u64 = 8_000;
/// Longer than the way to the moon and back.
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Higher loss prevents connections.
const MAX_LOSS_PPM: u32 = 500_000;

/// The environment of the roles of one trial. Dropping it ends its network; drop the roles first.
#[derive(Debug)]
pub struct Arena {
    executable: PathBuf,
    description: String,
    holder: Option<Holder>,
    /// One entry per side; one entry for a shared network, none for the host's.
    sides: Vec<Namespaces>,
    emulated: bool,
}

/// The process that keeps the namespaces. Ends when dropped.
#[derive(Debug)]
struct Holder {
    process: Child,
    stdin: Option<ChildStdin>,
}

static NEXT_ROLE: AtomicU64 = AtomicU64::new(0);

impl Arena {
    /// Creates the requested arena.
    pub fn open(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        cgroup::sweep();
        let (what, link) = match &spec.net {
            Net::Host => {
                return Ok(Self::host(spec, "host loopback, shared with everything else on this host"));
            }
            Net::Loopback => ("private network namespace, loopback, MTU 65536".to_owned(), None),
            Net::Veth(link) => {
                check(link)?;
                let by = if link.is_emulated() { "TUN devices and the lab" } else { "a veth pair" };
                let rate = if link.rate_bits_per_s.is_none() { ", no rate limit" } else { "" };
                (format!("two network namespaces joined by {by}, {link}{rate}"), Some(link.clone()))
            }
        };
        let emulated = link.as_ref().is_some_and(Link::is_emulated);
        let plan = HolderPlan { link, seed: spec.seed, no_gso: spec.no_gso };
        let (holder, Held { sides, notes }) = Holder::start(&spec.executable, &plan)?;
        let description = [what].into_iter().chain(notes).collect::<Vec<_>>().join("; ");
        Ok(Self { executable: spec.executable.clone(), description, holder: Some(holder), sides, emulated })
    }

    /// Creates the requested arena. If a private loopback is not permitted, the host's is used, and the description
    /// has the reason. For any other network, this is an error.
    pub fn best(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        match Self::open(spec) {
            Err(refusal @ ArenaError::NotPermitted { .. }) if spec.net == Net::Loopback => {
                Ok(Self::host(spec, &format!("host loopback: {refusal}")))
            }
            outcome => outcome,
        }
    }

    fn host(spec: &ArenaSpec, description: &str) -> Self {
        let (executable, description) = (spec.executable.clone(), description.to_owned());
        Self { executable, description, holder: None, sides: Vec::new(), emulated: false }
    }

    /// Describes the arena, with the reason for deviations from the request.
    pub fn describe(&self) -> &str {
        &self.description
    }

    /// Whether only the roles use the network, so that its counters can be read.
    pub fn is_private(&self) -> bool {
        self.holder.is_some()
    }

    /// The address of a side, and that of its peer.
    pub fn addresses(&self, side: LinkEnd) -> (IpAddr, IpAddr) {
        let (local, peer) = match (self.sides.len(), side) {
            (0, _) => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
            (1, _) => (FIRST_ADDRESS, FIRST_ADDRESS),
            (_, LinkEnd::A) => (FIRST_ADDRESS, SECOND_ADDRESS),
            (_, LinkEnd::B) => (SECOND_ADDRESS, FIRST_ADDRESS),
        };
        (local.into(), peer.into())
    }

    /// The path of a side's network namespace while the arena exists (`nsenter --net=...`), if it is private.
    pub fn net_path(&self, side: LinkEnd) -> Option<PathBuf> {
        self.namespaces(side).map(|namespaces| namespaces.net.clone())
    }

    /// Starts a role. Its events arrive in `events`.
    pub fn launch(&self, spec: LaunchSpec, events: EventSender) -> Result<RoleProcess, ArenaError> {
        let launch = Launch {
            cgroup: cgroup::name(std::process::id(), NEXT_ROLE.fetch_add(1, Ordering::Relaxed)),
            namespaces: self.namespaces(spec.side).cloned(),
            net: self.scope(spec.side),
            spec,
        };
        RoleProcess::launch(&self.executable, launch, events)
    }

    fn namespaces(&self, side: LinkEnd) -> Option<&Namespaces> {
        match side {
            LinkEnd::A => self.sides.first(),
            LinkEnd::B => self.sides.last(),
        }
    }

    fn scope(&self, side: LinkEnd) -> NetScope {
        let interface = match side {
            LinkEnd::A => FIRST_INTERFACE.to_owned(),
            LinkEnd::B => SECOND_INTERFACE.to_owned(),
        };
        match self.sides.len() {
            0 => NetScope::Host,
            1 => NetScope::Loopback,
            _ if self.emulated => NetScope::Tun(interface),
            _ => NetScope::Veth(interface),
        }
    }
}

impl Holder {
    fn start(executable: &Path, plan: &HolderPlan) -> Result<(Self, Held), ArenaError> {
        let failed = |error| ArenaError::process("starting the holder of the network", error);
        let mut process = hidden_verb(executable, "holder").spawn().map_err(failed)?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let mut holder = Self { process, stdin };
        match holder.ask(plan, stdout).map_err(failed)? {
            Ok(held) => Ok((holder, held)),
            Err(Refusal::NotPermitted(reason)) => Err(ArenaError::NotPermitted { reason }),
            Err(Refusal::Missing(reason)) => Err(ArenaError::Missing { reason }),
            Err(Refusal::Failed(reason)) => Err(ArenaError::Network { reason }),
        }
    }

    fn ask(&mut self, plan: &HolderPlan, stdout: Option<ChildStdout>) -> io::Result<HolderAnswer> {
        let (Some(stdin), Some(mut stdout)) = (&mut self.stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        write_line(stdin, plan)?;
        let deadline = Instant::now() + HOLDER_READY_TIME;
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        while answer.last() != Some(&b'\n') {
            wait_readable(&stdout, deadline)?;
            match stdout.read(&mut buffer)? {
                0 => return Err(io::Error::other("it ended without a message")),
                count => answer.extend_from_slice(&buffer[..count]),
            }
        }
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.stdin = None;
        end_process(&mut self.process, HOLDER_EXIT_TIME);
    }
}

fn wait_readable(fd: &impl AsFd, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
        }
    }
}

fn check(link: &Link) -> Result<(), ArenaError> {
    let (least, most) = (MTU_RANGE.start(), MTU_RANGE.end());
    let (field, rule) = match (link.queue, link.rate_bits_per_s) {
        _ if !MTU_RANGE.contains(&link.mtu) => {
            ("mtu", format!("{} is not within {least} to {most}", link.mtu))
        }
        (_, Some(rate)) if rate < MIN_RATE_BITS_PER_S => {
            ("rate", format!("{rate} bit/s is below {MIN_RATE_BITS_PER_S}"))
        }
        (Some(queue), _) if queue > MAX_DELAY => ("queue", format!("{queue:?} is above {MAX_DELAY:?}")),
        (Some(_), None) => ("queue", "requires a limited rate: add rate=".to_owned()),
        _ if link.delay > MAX_DELAY => ("delay", format!("{:?} is above {MAX_DELAY:?}", link.delay)),
        _ if link.loss_ppm > MAX_LOSS_PPM => {
            ("loss", format!("{} of a million is above {MAX_LOSS_PPM}", link.loss_ppm))
        }
        _ => return Ok(()),
    };
    Err(ArenaError::Invalid { field, rule })
}
