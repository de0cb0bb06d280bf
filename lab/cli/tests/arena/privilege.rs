//! Fewer privileges: what still works, and what is rejected.

use std::fs;
use std::process::Command;

use netdyno_lab_arena::{AgentEvent, Arena, ArenaError, LinkEnd};
use netdyno_lab_manifest::{Link, Net};

use super::trial::*;

#[test]
fn a_rejection_has_the_reason_and_only_loopback_falls_back() {
    // Without privileges, in a user namespace that may not create others: nothing is permitted.
    let refuse = "echo 0 > /proc/sys/user/max_net_namespaces";
    let outer = format!(
        "{refuse} && exec {} --exact privilege::as_refused --nocapture",
        std::env::current_exe().unwrap().display()
    );
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", &outer]).env("NETDYNO_TEST_REFUSED", "1");
    let Ok(output) = command.output() else { return skip("unshare(1)").unwrap_or_default() };
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("refused as it should") {
        assert!(!output.status.success(), "{text}");
        skip::<()>(&format!("user namespaces ({})", String::from_utf8_lossy(&output.stderr)))
            .unwrap_or_default();
    }
}

/// Not a test by itself: runs where network namespaces are denied.
#[test]
fn as_refused() {
    if std::env::var("NETDYNO_TEST_REFUSED").is_err() {
        return;
    }
    let veth = Net::Veth(Link::default());
    assert!(matches!(Arena::best(&spec(veth)), Err(ArenaError::NotPermitted { .. })));
    let arena = Arena::best(&spec(Net::Loopback)).unwrap();
    println!("{}", arena.describe());
    assert!(arena.describe().starts_with("host loopback: no privilege for network namespaces"));
    assert!(!arena.is_private() && arena.addresses(LinkEnd::A).0.is_loopback());
    let trial = Trial::new(arena, "echo up; read x");
    assert_eq!(trial.line(), "up");
    trial.finish();
    println!("refused as it should");
}

#[test]
fn without_a_tun_device_an_emulated_link_is_missing_and_nothing_else() {
    let outer = format!(
        "mount -t tmpfs none /dev/net && exec {} --exact privilege::as_without_tun --nocapture",
        std::env::current_exe().unwrap().display()
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &outer]).env("NETDYNO_TEST_WITHOUT_TUN", "1");
    let Ok(output) = command.output() else { return skip("unshare(1)").unwrap_or_default() };
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("missing as it should") {
        let errors = String::from_utf8_lossy(&output.stderr);
        // If the test itself ran, it succeeded or was skipped.
        assert!(output.status.success() || !text.contains("running"), "{text}{errors}");
        skip::<()>(&format!("user namespaces and a folder /dev/net ({errors})")).unwrap_or_default();
    }
}

/// Not a test by itself: runs where /dev/net is empty.
#[test]
fn as_without_tun() {
    if std::env::var("NETDYNO_TEST_WITHOUT_TUN").is_err() {
        return;
    }
    let link = Link { delay: std::time::Duration::from_millis(1), ..Link::default() };
    match Arena::best(&spec(Net::Veth(link))) {
        Err(ArenaError::Missing { reason }) => assert!(reason.contains("modprobe tun"), "{reason}"),
        Err(ArenaError::NotPermitted { reason }) => return println!("{reason}"),
        other => panic!("{other:?}"),
    }
    assert!(Arena::best(&spec(Net::Veth(Link::default()))).unwrap().is_private());
    println!("missing as it should");
}

#[test]
fn without_privileges_a_user_namespace_is_used() {
    if !nix::unistd::geteuid().is_root() {
        // Every other test then covers this case.
        return;
    }
    // A folder in which an unprivileged user can read and run them.
    let dir = std::env::temp_dir().join(format!("netdyno-unprivileged-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let (test, binary) = (dir.join("test"), dir.join("netdyno"));
    fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    fs::copy(BINARY, &binary).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&test);
    command
        .args(["--exact", "privilege::as_unprivileged", "--nocapture"])
        .env("NETDYNO_TEST_UNPRIVILEGED", &binary);
    let output = command.output();
    fs::remove_dir_all(&dir).unwrap();
    let Ok(output) = output else { return skip("setpriv(1)").unwrap_or_default() };
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    if !text.contains("served") {
        skip::<()>("unprivileged user namespaces");
    }
}

/// Not a test by itself: runs as an ordinary user.
#[test]
fn as_unprivileged() {
    let Ok(binary) = std::env::var("NETDYNO_TEST_UNPRIVILEGED") else { return };
    for net in [Net::Loopback, Net::Veth(Link { rate_bits_per_s: Some(1_000_000), ..Link::default() })] {
        let arena = match Arena::open(&spec_of(net, &binary)) {
            Err(ArenaError::NotPermitted { reason }) => return println!("{reason}"),
            arena => arena.unwrap(),
        };
        println!("{}", arena.describe());
        let script = "id -u; cat /proc/net/dev | grep -c netdyno0; (sleep 1000 &) ; grep CapEff /proc/self/status; echo $$; read x";
        let mut trial = Trial::new(arena, script);
        println!("{:?}", trial.notes);
        assert_eq!(trial.line(), "65534");
        assert_eq!(trial.line(), "1");
        assert_eq!(trial.line(), "CapEff:\t0000000000000000");
        assert_eq!(trial.line(), "2", "the contender's number in its PID namespace");
        trial.role().meter(1, true).unwrap();
        let AgentEvent::Meter { snapshot, .. } = trial.next() else { panic!() };
        println!("{snapshot:?}");
        assert!(
            snapshot.cpu_ns.value.is_some()
                && snapshot.pss_bytes.value.is_some()
                && snapshot.net.bytes.value.is_some()
        );
        trial.role().send_line("").unwrap();
        assert_eq!(trial.exit().code, Some(0));
        trial.finish();
    }
    // No cgroup, no PID namespace: processes are found by their parents.
    let script = "setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up; read x; exit 3";
    let mut trial = Trial::new(Arena::open(&spec_of(Net::Host, &binary)).unwrap(), script);
    println!("{:?}", trial.notes);
    assert_eq!(trial.line(), "up");
    eventually("the daemons start", || marked(&trial.mark).len() >= 4);
    trial.role().send_line("go").unwrap();
    assert_eq!(trial.exit().code, Some(3));
    assert_eq!(marked(&trial.mark), [0; 0]);
    trial.finish();
    println!("served");
}
