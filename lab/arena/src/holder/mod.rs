//! The hidden verb `holder`: creates an arena's private network and keeps it until its stdin closes.
//!
//! Nothing is named in `/run/netns`: the network disappears with the last process in it, even if the lab is killed.
//! The holder is single-threaded, since a multi-threaded process may not enter a user namespace.

mod emulation;
mod links;
mod shaping;

use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};

use super::error::failed;
use super::limits::MAX_CONTROL_LINE_BYTES;
use super::messages::{Held, HolderAnswer, HolderPlan, Namespaces, Refusal, write_line};
use super::sys;
pub(crate) use links::{FIRST_ADDRESS, SECOND_ADDRESS};
use netdyno_lab_manifest::Link;

/// The interface of the first side, or the only one.
pub(crate) const FIRST_INTERFACE: &str = "netdyno0";
pub(crate) const SECOND_INTERFACE: &str = "netdyno1";

/// Runs the holder on stdin and stdout. The process must be single-threaded.
pub fn run() -> io::Result<()> {
    sys::ignore_sigpipe()?;
    let mut line = String::new();
    let mut stdin = io::stdin().lock();
    stdin.by_ref().take(MAX_CONTROL_LINE_BYTES as u64).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(());
    }
    let plan: HolderPlan = serde_json::from_str(&line)?;
    // Kept open until the end: a namespace without processes exists as long as it is open.
    let (answer, open): (HolderAnswer, _) = match configure(&plan) {
        Ok((held, open)) => (Ok(held), Some(open)),
        Err(refusal) => (Err(refusal), None),
    };
    write_line(io::stdout().lock(), &answer)?;
    match (open, &plan.link) {
        (None, _) => Ok(()),
        (Some(Open { devices: Some(devices), .. }), Some(link)) => {
            emulation::carry(&devices, link, plan.seed, stdin.as_fd())
        }
        _ => io::copy(&mut stdin, &mut io::sink()).map(drop),
    }
}

/// Moves this process into a new network namespace and, if necessary, a new user namespace. Returns whether there is
/// one.
fn private_network() -> Result<bool, String> {
    let Err(plain) = unshare(CloneFlags::CLONE_NEWNET) else { return Ok(false) };
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|errno| {
        format!("unshare(CLONE_NEWNET): {plain}; unshare(CLONE_NEWUSER | CLONE_NEWNET): {errno}")
    })?;
    // All ids keep their numbers, so that a contender runs as the same user. An unprivileged process may map its
    // group only after it has given up setgroups.
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{uid} {uid} 1")),
        ("gid_map", format!("{gid} {gid} 1")),
    ] {
        let file = format!("/proc/self/{file}");
        fs::write(&file, text).map_err(failed(file))?;
    }
    Ok(true)
}

/// Files that keep the network alive: the second side's namespace, and the devices of an emulated link.
#[derive(Default)]
struct Open {
    _second: Option<File>,
    devices: Option<[File; 2]>,
}

fn configure(plan: &HolderPlan) -> Result<(Held, Open), Refusal> {
    let user = private_network().map_err(Refusal::NotPermitted)?;
    let pid = std::process::id();
    let path = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
    let side = |net: PathBuf| Namespaces { user: user.then(|| path("ns/user")), net };
    let mut notes = Vec::new();
    if user {
        notes.push("in a user namespace".to_owned());
    }
    notes.extend(disable_ipv6());
    let Some(link) = &plan.link else {
        links::loopback()?;
        if plan.no_gso {
            notes.push(links::no_gso(links::LOOPBACK)?);
        }
        return Ok((Held { sides: vec![side(path("ns/net"))], notes }, Open::default()));
    };
    let first = own_net()?;
    let first_device = link.is_emulated().then(|| emulation::device(FIRST_INTERFACE)).transpose()?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(failed("second network namespace"))?;
    let second = own_net()?;
    notes.extend(disable_ipv6());
    let devices = match first_device {
        Some(device) => Some([device, emulation::device(SECOND_INTERFACE)?]),
        None => links::veth(&first, link.mtu).map(|()| None)?,
    };
    links::side(SECOND_INTERFACE, links::SECOND_ADDRESS, link)?;
    if plan.no_gso {
        notes.push(links::no_gso(SECOND_INTERFACE)?);
    }
    setns(&first, CloneFlags::CLONE_NEWNET).map_err(failed("back to the first side"))?;
    links::side(FIRST_INTERFACE, links::FIRST_ADDRESS, link)?;
    if plan.no_gso {
        links::no_gso(FIRST_INTERFACE)?;
    }
    let sides = vec![side(path("ns/net")), side(path(&format!("fd/{}", second.as_raw_fd())))];
    notes.dedup();
    Ok((Held { sides, notes }, Open { _second: Some(second), devices }))
}

fn own_net() -> Result<File, String> {
    File::open("/proc/self/ns/net").map_err(failed("/proc/self/ns/net"))
}

/// Only one protocol family, so that every contender takes the same path. A kernel without IPv6 needs no change.
fn disable_ipv6() -> Option<String> {
    ["all", "default"].iter().find_map(|scope| {
        let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
        match fs::write(&path, "1") {
            Err(error) if error.raw_os_error() != Some(Errno::ENOENT as i32) => {
                Some(format!("IPv6 not disabled: {error}"))
            }
            _ => None,
        }
    })
}
