//! Network namespaces for tests, since there is only one port 3610.
#![allow(dead_code, unused_imports, clippy::unwrap_used, unreachable_pub)]

#[path = "../../../support/alone.rs"]
mod alone;
#[cfg(target_os = "linux")]
pub(crate) mod peer;

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use netdyno_echonet::Settings;
use netdyno_echonet::core::{
    Access, ClassCode, ControllerConfig, Description, Eoj, Epc, NodeSettings, ObjectDescription,
};

pub(crate) use alone::{alone, alone_with, skip};

/// The experimental manufacturer code.
pub(crate) const MAKER: [u8; 3] = [0xFF, 0xFF, 0xFE];

/// The mono-functional lighting.
pub(crate) const LIGHT: Eoj = ClassCode(0x0291).instance(1);

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
