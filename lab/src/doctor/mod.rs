//! Is this machine fit to measure on? Findings with remedies, and the lab's test of itself.

pub mod against_itself;
mod findings;
pub mod losses;
mod noise;
pub mod resolution;
pub mod self_duels;
pub mod self_test;

pub use findings::{Finding, Grade, findings};

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

/// Programs whose version stands in every result, and how to ask them.
const TOOLCHAINS: [(&str, &str); 9] = [
    ("rustc", "--version"),
    ("cargo", "--version"),
    ("go", "version"),
    ("node", "--version"),
    ("npm", "--version"),
    ("python3", "--version"),
    ("cc", "--version"),
    ("cmake", "--version"),
    ("javac", "-version"),
];

/// The toolchains found, by program: the first line of what each says of itself.
#[must_use]
pub fn toolchains() -> BTreeMap<String, String> {
    let ask = |(program, flag)| {
        let mut command = Command::new(program);
        command.arg(flag).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Some((program, command.spawn().ok()?))
    };
    // All at once: some take half a second.
    let asked: Vec<(&str, Child)> = TOOLCHAINS.into_iter().filter_map(ask).collect();
    let answer = |(program, child): (&str, Child)| {
        let output = child.wait_with_output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next().unwrap_or("").trim().to_owned();
        (output.status.success() && !line.is_empty()).then(|| (program.to_owned(), line))
    };
    asked.into_iter().filter_map(answer).collect()
}
