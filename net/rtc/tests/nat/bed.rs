//! Networks with NATs: namespaces joined by veth pairs, and nftables rules for each kind of NAT.
//!
//! Everything is in namespaces of the test (network, processes and mounts), with its own /run for the names
//! of `ip netns`. It all ends with the test, however that ends.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;

/// Set within the test's namespaces.
const INSIDE: &str = "NETDYNO_NAT_INSIDE";
/// A guard against hanging, after which everything is ended.
const TIME_LIMIT: Duration = Duration::from_secs(240);
/// Required programs and their packages.
const NEEDS: [(&str, &str); 4] =
    [("unshare", "util-linux"), ("ip", "iproute2"), ("nft", "nftables"), ("turnserver", "coturn")];
/// Folders that are missing in the PATH of users other than root.
const MORE_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Addresses of hosts on the public segment (documentation range, RFC 5737); a STUN server needs two.
pub(crate) const PUBLIC: [Ipv4Addr; 2] = [Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(203, 0, 113, 2)];

/// Reports what is missing; fails if everything is required.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {why}");
    println!("skipped: needs {why}");
}

/// Runs the test of this name in a process that is alone in its namespaces.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        // End with the parent; as the first process of the namespace, this ends all others too.
        thread::spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            println!("ended from outside: it took too long, or its parent is gone");
            std::process::exit(1);
        });
        return test();
    }
    let path = format!("{}:{MORE_PATH}", std::env::var("PATH").unwrap_or_default());
    let has = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if let Some((program, package)) = NEEDS.into_iter().find(|(program, _)| !has(program)) {
        return skip(&format!("{program} (package {package})"));
    }
    let unshared = |more: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]).args(more);
        command.args(["sh", "-c", &format!("mount -t tmpfs tmpfs /run && {script}")]).env("PATH", &path);
        command
    };
    let can = |more: &&[&str]| {
        let output = unshared(more, "ip netns add a && ip netns exec a nft list ruleset").output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some(more) = [&[] as &[&str], &["--map-root-user"]].into_iter().find(can) else {
        return skip("root, or user namespaces, in which nftables works");
    };
    let mut child = unshared(more, "exec \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(INSIDE, "1")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let begun = Instant::now();
    let status: ExitStatus = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() < TIME_LIMIT => thread::sleep(Duration::from_millis(20)),
            None => {
                drop(stdin);
                break child.wait().unwrap();
            }
        }
    };
    assert!(status.success(), "{name}, in namespaces of its own: {status}, after {:?}", begun.elapsed());
}

/// Behaviour of a NAT for UDP, in the terms of RFC 3489; `probe` reports it in those of RFC 4787.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nat {
    FullCone,
    AddressRestricted,
    /// The default of Linux: preserves ports while they are free, and admits only addressed peers.
    PortRestricted,
    Symmetric,
    /// A full cone that also accepts datagrams from inside to one of its own mappings (hairpinning).
    Hairpin,
    /// Blocks UDP.
    NoUdp,
}

impl Nat {
    /// The nftables rules. Linux preserves ports, so a mapping belongs to the owner of the port. Unsolicited
    /// datagrams are dropped before connection tracking, which would otherwise assign the port to the router.
    fn rules(self, address: Ipv4Addr) -> String {
        let cone = |which: &str| {
            let learn = "update @owners { udp sport : ip saddr } update @spoken { udp sport . ip daddr }";
            format!(
                "map owners {{ type inet_service : ipv4_addr; size 4096; flags dynamic,timeout; timeout 5m; }}
                set spoken {{ type inet_service . ipv4_addr; size 4096; flags dynamic,timeout; timeout 5m; }}
                chain learn {{ type filter hook forward priority filter; oifname wan {learn}; }}
                chain taken {{ type nat hook prerouting priority dstnat; {which} dnat to udp dport map @owners; }}"
            )
        };
        let more = match self {
            Self::PortRestricted | Self::Symmetric => String::new(),
            Self::FullCone => cone("iifname wan"),
            Self::AddressRestricted => cone("iifname wan udp dport . ip saddr @spoken"),
            // RFC 4787, 6: the receiver sees the mapped address and port.
            Self::Hairpin => format!(
                "{}
                chain back {{ type nat hook postrouting priority srcnat; oifname lan* ct status dnat snat to {address}; }}",
                cone(&format!("ip daddr {address}"))
            ),
            Self::NoUdp => "chain none { type filter hook forward priority filter; meta l4proto udp drop; }".to_owned(),
        };
        let random = if self == Self::Symmetric { "fully-random" } else { "" };
        format!(
            "table ip nat {{
                chain out {{ type nat hook postrouting priority srcnat; oifname wan masquerade {random}; }}
                chain own {{ type filter hook input priority filter; iifname wan meta l4proto udp drop; }}
                {more}
            }}\n"
        )
    }
}

/// Counters of a host: datagrams sent, by source port and destination.
const COUNTING: &str = "table ip wire {
    set sent { type inet_service . ipv4_addr; size 4096; flags dynamic; counter; }
    chain out { type filter hook output priority filter; meta l4proto udp update @sent { udp sport . ip daddr }; }
}\n";

/// A namespace: the public segment, a NAT, or a host.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    name: String,
    /// The address on the public segment.
    pub(crate) address: Ipv4Addr,
}

impl Node {
    /// Runs a closure within it: sockets, threads and processes created there stay there.
    pub(crate) fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            let namespace = File::open(format!("/run/netns/{}", self.name)).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            run()
        };
        thread::scope(|scope| {
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Bytes that this host has sent from a local UDP port, by destination address.
    pub(crate) fn sent(&self, port: u16) -> Vec<(Ipv4Addr, u64)> {
        let list = || Command::new("nft").args(["-j", "list", "set", "ip", "wire", "sent"]).output().unwrap();
        let listed: Value = serde_json::from_slice(&self.enter(list).stdout).unwrap();
        let elements =
            listed["nftables"][1]["set"]["elem"].as_array().into_iter().flatten().map(|it| &it["elem"]);
        let ours = elements.filter(|it| it["val"]["concat"][0] == port);
        let read = |it: &Value| {
            let to = it["val"]["concat"][1].as_str().unwrap();
            (to.parse().unwrap(), it["counter"]["bytes"].as_u64().unwrap())
        };
        ours.map(read).collect()
    }

    /// Lines for `ip -batch`.
    pub(crate) fn ip(&self, lines: &str) {
        feed(Command::new("ip").args(["-n", &self.name, "-batch", "-"]), lines);
    }
}

/// Runs a program with this input; it must succeed.
pub(crate) fn feed(command: &mut Command, input: &str) {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{command:?}: {status}, with\n{input}");
}

/// All namespaces.
pub(crate) struct Bed {
    pub(crate) public: Node,
    nodes: u8,
}

impl Bed {
    /// The public segment, a bridge. Datagrams to private addresses are dropped silently, as usual.
    pub(crate) fn new() -> Self {
        let mut bed = Self { public: Node { name: "public".into(), address: PUBLIC[0] }, nodes: 0 };
        bed.namespace(&bed.public.clone());
        let [first, second] = PUBLIC;
        bed.public.ip(&format!(
            "link add segment type bridge\nlink set segment up\nlink add beyond type veth peer name void\nlink set beyond arp off up\nlink set void up\n\
             addr add {first}/24 dev segment\naddr add {second}/24 dev segment\nroute add default dev beyond\n"
        ));
        bed
    }

    fn namespace(&mut self, node: &Node) {
        feed(Command::new("ip").args(["-batch", "-"]), &format!("netns add {}\n", node.name));
        // Without IPv6, there is nothing to disable.
        node.enter(|| {
            for which in ["all", "default"] {
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
        });
        node.ip("link set lo up\n");
    }

    /// A host on the public segment, or behind its own NATs, the innermost first.
    pub(crate) fn host(&mut self, at: &Node, nats: &[Nat]) -> Node {
        let mut at = at.clone();
        for nat in nats.iter().rev() {
            at = self.nat(&at, *nat);
        }
        let host = self.node(&at);
        host.enter(|| feed(Command::new("nft").args(["-f", "-"]), COUNTING));
        host
    }

    /// A NAT for hosts to be put behind.
    pub(crate) fn nat(&mut self, at: &Node, nat: Nat) -> Node {
        let node = self.node(at);
        node.enter(|| {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
            feed(Command::new("nft").args(["-f", "-"]), &nat.rules(node.address));
        });
        node
    }

    fn node(&mut self, at: &Node) -> Node {
        self.nodes += 1;
        let number = self.nodes;
        let is_public = at.name == self.public.name;
        let address =
            if is_public { Ipv4Addr::new(203, 0, 113, 10 + number) } else { Ipv4Addr::new(10, number, 0, 2) };
        let node = Node { name: format!("node{number}"), address };
        self.namespace(&node);
        node.ip(&format!("link add wan type veth peer name lan{number} netns {}\n", at.name));
        let gateway = if is_public { PUBLIC[0] } else { Ipv4Addr::new(10, number, 0, 1) };
        at.ip(&if is_public {
            format!("link set lan{number} master segment up\n")
        } else {
            format!("addr add {gateway}/24 dev lan{number}\nlink set lan{number} up\n")
        });
        node.ip(&format!(
            "addr add {address}/24 dev wan\nlink set wan up\nroute add default via {gateway}\n"
        ));
        node
    }
}
