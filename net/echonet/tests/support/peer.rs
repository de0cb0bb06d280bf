//! A second network namespace, joined to the test's by a veth pair.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The address of the test's end.
pub(crate) const HERE: &str = "198.18.0.1";
/// An address of the peer's end.
pub(crate) const THERE: &str = "198.18.0.2";

/// The second namespace. It ends when dropped.
pub(crate) struct PeerNetwork {
    holder: Child,
}

impl PeerNetwork {
    /// Creates it. Call it in a namespace of the test's own.
    pub(crate) fn new() -> Self {
        let mut holder = Command::new("unshare")
            .args(["-n", "sh", "-c", "ip link set lo up && echo && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The line shows that the namespace exists.
        holder.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let peer = Self { holder };
        let pid = peer.holder.id();
        sh(&format!("ip link add ours type veth peer name theirs netns {pid}"));
        sh(&format!(
            "ip addr add {HERE}/24 dev ours && ip link set ours up && ip route add default dev ours"
        ));
        peer.sh(&format!(
            "ip addr add {THERE}/24 dev theirs && ip link set theirs up && ip route add default dev theirs"
        ));
        peer
    }

    /// Runs a shell command in it.
    pub(crate) fn sh(&self, command: &str) {
        self.run(|| sh(command));
    }

    /// Runs a closure in it, on a thread of its own. Sockets and threads that it creates stay there.
    pub(crate) fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/proc/{}/ns/net", self.holder.id())).unwrap();
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
                act()
            });
            inside.join().unwrap()
        })
    }
}

impl Drop for PeerNetwork {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

pub(crate) fn sh(command: &str) {
    let status = Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(status.success(), "{command}: {status}");
}
