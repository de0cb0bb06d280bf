//! Tests in a network namespace.

use std::process::Command;

/// Set in the process inside the namespace.
const INSIDE: &str = "NETDYNO_TEST_INSIDE";

/// Reports a missing requirement; fails if all tests are mandatory.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("NETDYNO_REQUIRE").is_none_or(|all| all != "all"), "needs {why}");
    println!("skipped: needs {why}");
}

/// Runs the test with this name in a separate process and network namespace with loopback up. `setup` is a
/// shell command that runs there first.
pub(crate) fn alone_with(name: &str, setup: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let script = format!("ip link set lo up && {setup} && exec \"$0\" \"$@\"");
    let can = Command::new("unshare")
        .args(["-rn", "setpriv", "--pdeathsig", "KILL", "sh", "-c", "ip link set lo up"])
        .output();
    if !can.is_ok_and(|can| can.status.success()) {
        return skip("unshare and setpriv (util-linux) and ip (iproute2), and user namespaces or root");
    }
    // If this process is killed, the other one ends, too.
    let status = Command::new("unshare")
        .args(["-rn", "setpriv", "--pdeathsig", "KILL", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "{name}, in a network of its own: {status}");
}

/// Like [`alone_with`], with loopback only.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    alone_with(name, "true", test);
}
