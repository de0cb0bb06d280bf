//! The reported version is that of the compiler, which includes the standard library.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // "rustc 1.95.0 (59807616e 2026-04-14)"
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output().ok();
    let printed =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    println!("cargo::rustc-env=RUSTC_VERSION={}", printed.split(' ').nth(1).unwrap_or("unknown"));
}
