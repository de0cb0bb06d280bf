//! Network namespaces for tests, since there is only one port 3610.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

#[cfg(target_os = "linux")]
pub(crate) mod peer;

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use netdyno_echonet::Settings;
use netdyno_echonet::core::{
    Access, ClassCode, ControllerConfig, Description, Eoj, Epc, NodeSettings, ObjectDescription,
};

/// Set in the process inside the namespace.
const INSIDE: &str = "NETDYNO_ECHONET_INSIDE";

/// The experimental manufacturer code.
pub(crate) const MAKER: [u8; 3] = [0xFF, 0xFF, 0xFE];

/// The mono-functional lighting.
pub(crate) const LIGHT: Eoj = ClassCode(0x0291).instance(1);

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
    let can = Command::new("unshare").args(["-rn", "sh", "-c", "ip link set lo up"]).output();
    if !can.is_ok_and(|can| can.status.success()) {
        return skip("unshare (util-linux) and ip (iproute2), and user namespaces or root");
    }
    let status = Command::new("unshare")
        .args(["-rn", "sh", "-c", &script])
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

/// Loopback, at one address.
pub(crate) fn at(address: &str) -> Settings {
    let mut settings = Settings::on("lo");
    settings.address = Some(address.parse().unwrap());
    settings
}

pub(crate) fn config() -> ControllerConfig {
    ControllerConfig::new(MAKER, *b"a test's cont")
}

pub(crate) fn impatient() -> ControllerConfig {
    let mut config = config();
    config.defaults = patience(Duration::from_millis(50), 0);
    config
}

pub(crate) fn patience(timeout: Duration, retries: u8) -> NodeSettings {
    let mut settings = NodeSettings::default();
    (settings.timeout, settings.retries) = (timeout, retries);
    settings
}

/// A light that can be switched and dimmed.
pub(crate) fn light() -> Description {
    light_of(1)
}

pub(crate) fn light_of(number: u16) -> Description {
    let mut unique = *b"a test's ligh";
    unique[11..].copy_from_slice(&number.to_be_bytes());
    let light = ObjectDescription::device(LIGHT, MAKER).property(Epc(0x80), [0x30], Access::ALL).property(
        Epc(0xB0),
        [100],
        Access::GET_SET,
    );
    Description::new(MAKER, unique).object(light)
}

/// Waits until the condition holds, at most a minute.
pub(crate) fn until(what: impl std::fmt::Display, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Prevents a test from hanging; not a measured limit.
pub(crate) const GUARD: Duration = Duration::from_secs(60);
/// A Get of 80 of the light, and its answer.
pub(crate) const GET_80: &[u8] = b"\x10\x81\x12\x34\x05\xFF\x01\x02\x91\x01\x62\x01\x80\x00";
pub(crate) const GOT_80: &[u8] = b"\x10\x81\x12\x34\x02\x91\x01\x05\xFF\x01\x72\x01\x80\x01\x30";

/// Reads this many bytes of a stream.
pub(crate) fn read(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer).unwrap();
    answer
}
