//! Versions of the installed toolchains.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::build::first_line;

/// Programs whose version is part of every result, with the option that prints it.
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

/// Time limit of each program, so that no run waits for one that hangs.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The first line of each toolchain's version, by program, or a note that it did not reply in time.
pub fn toolchains() -> BTreeMap<String, String> {
    answers(&TOOLCHAINS, ANSWER_LIMIT)
}

fn answers(programs: &[(&str, &str)], limit: Duration) -> BTreeMap<String, String> {
    // In parallel, since some take half a second.
    std::thread::scope(|scope| {
        let ask = |&(program, flag)| (program, scope.spawn(move || first_line(program, flag, limit)));
        let asked: Vec<_> = programs.iter().map(ask).collect();
        let joined = asked.into_iter().map(|(program, thread)| (program, thread.join()));
        joined.filter_map(|(program, answer)| Some((program.to_owned(), answer.ok()??))).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use super::*;

    /// A program that hangs, or leaves a child that holds its pipe, neither delays the others nor survives.
    #[test]
    fn a_tool_that_hangs_holds_up_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let tool = |name: &str, script: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let alive = folder.path().join("alive").display().to_string();
        let tools = [
            tool("hangs", &format!("echo begun; trap '' TERM; while :; do : >> {alive}; sleep 0.05; done")),
            tool("good", "echo \"good $1\"; echo more"),
            tool("leaves", "echo left; sleep 600 &"),
            tool("fails", "echo no; exit 1"),
            tool("silent", ""),
            folder.path().join("absent").display().to_string(),
        ];
        let asked: Vec<(&str, &str)> = tools.iter().map(|tool| (tool.as_str(), "--version")).collect();
        let begun = Instant::now();
        let hanging = answers(&asked[..1], Duration::from_millis(300));
        let others = answers(&asked[1..], Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!(hanging[&tools[0]], "no answer to --version in 0.3 s");
        let wanted = [(&tools[1], "good --version"), (&tools[2], "left")];
        assert_eq!(others, wanted.map(|(tool, line)| (tool.clone(), line.to_owned())).into());
        let _ = std::fs::remove_file(&alive);
        std::thread::sleep(Duration::from_millis(300));
        assert!(!std::path::Path::new(&alive).exists(), "it still runs");
    }
}
