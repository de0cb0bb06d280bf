//! The network of an arena, as seen by the lab: a holder and its namespaces.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::holder::{FIRST_ADDRESS, FIRST_INTERFACE, SECOND_ADDRESS, SECOND_INTERFACE};
use super::limits::{HOLDER_EXIT_TIME, HOLDER_READY_TIME};
use super::messages::{HolderAnswer, HolderPlan, Namespaces};
use super::role::{end_process, hidden_verb};
use super::{ArenaError, LinkEnd};
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

/// The network of the roles.
#[derive(Debug)]
pub(crate) struct Network {
    description: String,
    holder: Option<Holder>,
    /// One entry per side; one entry for a shared network.
    sides: Vec<Namespaces>,
    /// The sides are connected by TUN devices.
    emulated: bool,
}

/// The process that keeps the namespaces. Ends when dropped.
#[derive(Debug)]
struct Holder {
    process: Child,
    stdin: Option<ChildStdin>,
}

impl Network {
    /// Creates the requested network.
    pub(crate) fn open(executable: &Path, net: &Net, seed: u64, no_gso: bool) -> Result<Self, ArenaError> {
        let (plan, what) = match *net {
            Net::Host => return Ok(Self::host(None)),
            Net::Loopback => {
                (HolderPlan::Loopback { no_gso }, "private network namespace, loopback, MTU 65536".to_owned())
            }
            Net::Veth(ref link) => {
                check(link)?;
                let by = if link.is_emulated() { "TUN devices and the lab" } else { "a veth pair" };
                let rate = if link.rate_bits_per_s.is_none() { ", no rate limit" } else { "" };
                let what = format!("two network namespaces joined by {by}, {link}{rate}");
                (HolderPlan::Veth { link: link.clone(), seed, no_gso }, what)
            }
        };
        let (holder, sides, notes) = Holder::start(executable, &plan)?;
        let description = std::iter::once(what).chain(notes).collect::<Vec<_>>().join("; ");
        let emulated = matches!(net, Net::Veth(link) if link.is_emulated());
        Ok(Self { description, holder: Some(holder), sides, emulated })
    }

    /// The host's loopback, on request or because of an error.
    pub(crate) fn host(refusal: Option<&ArenaError>) -> Self {
        let description = match refusal {
            None => "host loopback, shared with everything else on this host".to_owned(),
            Some(refusal) => format!("host loopback: {refusal}"),
        };
        Self { description, holder: None, sides: Vec::new(), emulated: false }
    }

    pub(crate) fn describe(&self) -> &str {
        &self.description
    }

    pub(crate) fn is_private(&self) -> bool {
        self.holder.is_some()
    }

    pub(crate) fn addresses(&self, side: LinkEnd) -> (IpAddr, IpAddr) {
        let (local, peer) = match (self.sides.len(), side) {
            (0, _) => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST),
            (1, _) => (FIRST_ADDRESS, FIRST_ADDRESS),
            (_, LinkEnd::A) => (FIRST_ADDRESS, SECOND_ADDRESS),
            (_, LinkEnd::B) => (SECOND_ADDRESS, FIRST_ADDRESS),
        };
        (local.into(), peer.into())
    }

    pub(crate) fn namespaces(&self, side: LinkEnd) -> Option<Namespaces> {
        match side {
            LinkEnd::A => self.sides.first(),
            LinkEnd::B => self.sides.last(),
        }
        .cloned()
    }

    pub(crate) fn scope(&self, side: LinkEnd) -> NetScope {
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
    fn start(
        executable: &Path,
        plan: &HolderPlan,
    ) -> Result<(Self, Vec<Namespaces>, Vec<String>), ArenaError> {
        let failed = |error| ArenaError::process("starting the holder of the network", error);
        let mut process = hidden_verb(executable, "holder")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take();
        let mut holder = Self { process, stdin };
        let answer = holder.ask(plan, stdout).map_err(failed)?;
        match answer {
            HolderAnswer::Ready { sides, notes } => Ok((holder, sides, notes)),
            HolderAnswer::NotPermitted { reason } => Err(ArenaError::NotPermitted { reason }),
            HolderAnswer::Missing { reason } => Err(ArenaError::Missing { reason }),
            HolderAnswer::Failed { reason } => Err(ArenaError::Network { reason }),
        }
    }

    fn ask(&mut self, plan: &HolderPlan, stdout: Option<impl io::Read + AsFd>) -> io::Result<HolderAnswer> {
        let (Some(stdin), Some(mut stdout)) = (&mut self.stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut line = serde_json::to_vec(plan)?;
        line.push(b'\n');
        stdin.write_all(&line)?;
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
    let invalid = |field, rule| Err(ArenaError::Invalid { field, rule });
    if !MTU_RANGE.contains(&link.mtu) {
        return invalid(
            "mtu",
            format!("{} is not within {} to {}", link.mtu, MTU_RANGE.start(), MTU_RANGE.end()),
        );
    }
    if let Some(rate) = link.rate_bits_per_s.filter(|rate| *rate < MIN_RATE_BITS_PER_S) {
        return invalid("rate", format!("{rate} bit/s is below {MIN_RATE_BITS_PER_S}"));
    }
    match (link.queue, link.rate_bits_per_s) {
        (Some(queue), _) if queue > MAX_DELAY => {
            return invalid("queue", format!("{queue:?} is above {MAX_DELAY:?}"));
        }
        (Some(_), None) => return invalid("queue", "requires a limited rate: add rate=".to_owned()),
        _ => {}
    }
    if link.delay > MAX_DELAY {
        return invalid("delay", format!("{:?} is above {MAX_DELAY:?}", link.delay));
    }
    if link.loss_ppm > MAX_LOSS_PPM {
        return invalid("loss", format!("{} of a million is above {MAX_LOSS_PPM}", link.loss_ppm));
    }
    Ok(())
}
