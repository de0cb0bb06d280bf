//! A repository of dummies in a temporary folder, with its own store and cache.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_netdyno");
const WORKLOAD: &str = netdyno_lab_manifest::dummy::WORKLOAD;

pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A repository with these contenders, each with a name and an optional fault.
    pub(crate) fn new(contenders: &[(&str, Option<&str>)]) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        bench.write("workloads/dummy.toml", WORKLOAD);
        std::fs::create_dir_all(bench.path("contenders")).unwrap();
        // Every run queries the toolchains' versions, which takes time that tests do not need.
        std::fs::create_dir_all(bench.path("tools")).unwrap();
        for slow in ["javac", "npm"] {
            std::os::unix::fs::symlink("/bin/true", bench.path("tools").join(slow)).unwrap();
        }
        for (name, fault) in contenders {
            bench.add(name, *fault);
        }
        bench
    }

    pub(crate) fn add(&self, name: &str, fault: Option<&str>) {
        self.add_in(name, fault, &["source", "sink"]);
    }

    /// Adds a contender that plays only these roles.
    pub(crate) fn add_in(&self, name: &str, fault: Option<&str>, roles: &[&str]) {
        let with = |role: &str| {
            // Only a source can report that it sent nothing; every other fault is the sink's.
            let mine = fault.filter(|f| (*f == "overclaim") == (role == "source"));
            let fault = mine.map_or(String::new(), |f| format!(", \"--fault={f}\""));
            format!("[roles.{role}]\nrun = [\"netdyno\", \"dummy\"{fault}]\n")
        };
        let text = format!(
            "name = \"{name}\"\nworkload = \"dummy\"\nlanguage = \"rust\"\nabout = \"counts\"\nlicense = \"MIT\"\n\
             tuning = \"defaults\"\n[implementation]\nmodule = \"netdyno\"\nversion = \"{}\"\n[build]\n\
             tool = \"system\"\nneeds = [{{ program = \"netdyno\", apt = \"netdyno\" }}]\n{}",
            env!("CARGO_PKG_VERSION"),
            roles.iter().map(|role| with(role)).collect::<String>(),
        );
        self.write(&format!("contenders/dummy/{name}/contender.toml"), &text);
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        let path = std::env::var("PATH").unwrap_or_default();
        let own = Path::new(BINARY).parent().unwrap().display().to_string();
        command
            .args(arguments)
            .env("NETDYNO_ROOT", self.folder.path())
            .env("NETDYNO_STORE", self.path("store/runs.db"))
            .env("NETDYNO_CACHE", self.path("cache"))
            .env("PATH", format!("{own}:{}:{path}", self.path("tools").display()));
        command
    }

    /// Runs it to its end.
    pub(crate) fn netdyno(&self, arguments: &[&str]) -> Seen {
        Seen::of(&self.command(arguments).output().unwrap())
    }

    /// Adds a contender that blocks from its second trial on until it is released: a run of it can be ended or
    /// observed before it ends by itself, on machines of any speed.
    pub(crate) fn add_held(&self, name: &str) {
        self.add(name, None);
        self.write("allowed", "1");
        self.write(
            "held.sh",
            "cd \"$(dirname \"$0\")\"\necho >> starts\n\
             while [ -e allowed ] && [ \"$(wc -l < starts)\" -gt \"$(cat allowed)\" ]; do sleep 0.05; done\nexec netdyno dummy\n",
        );
        let manifest = format!("contenders/dummy/{name}/contender.toml");
        let text = std::fs::read_to_string(self.path(&manifest)).unwrap();
        let (head, sink) = text.split_once("[roles.sink]").unwrap();
        let script = self.path("held.sh").display().to_string();
        let sink = sink.replace("[\"netdyno\", \"dummy\"]", &format!("[\"/bin/sh\", \"{script}\"]"));
        self.write(&manifest, &format!("{head}[roles.sink]{sink}"));
    }

    /// Permits it this many trials in total.
    pub(crate) fn allow(&self, trials: u32) {
        // Atomically, since it may be reading.
        self.write("allowed.new", &trials.to_string());
        std::fs::rename(self.path("allowed.new"), self.path("allowed")).unwrap();
    }

    /// Releases it.
    pub(crate) fn release(&self) {
        std::fs::remove_file(self.path("allowed")).unwrap();
    }

    /// Waits until the newest run, which this process measures, has this many successful trials.
    pub(crate) fn wait_for_trials(&self, run: &mut Child, trials: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            // Queried first: after its end, everything it stored is visible.
            let ended = run.try_wait().unwrap();
            let seen = self.netdyno(&["show", "last", "--format", "json"]);
            let report: Value = serde_json::from_str(&seen.stdout).unwrap_or_default();
            let cells = report["cells"].as_array().cloned().unwrap_or_default();
            if cells.iter().filter_map(|c| c["trials"].as_u64()).sum::<u64>() >= trials {
                return;
            }
            if let Some(status) = ended {
                let mut printed = String::new();
                run.stderr.take().map(|mut stderr| stderr.read_to_string(&mut printed));
                panic!("it ended before it had {trials} trials: {status}: {printed}");
            }
            assert!(Instant::now() < deadline, "no {trials} trials: {}", seen.stderr);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The report of the newest run.
    pub(crate) fn last(&self) -> Value {
        let seen = self.netdyno(&["show", "last", "--format", "json"]);
        serde_json::from_str(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {seen:?}"))
    }
}

/// The output of the program.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Seen {
    pub(crate) fn of(output: &Output) -> Seen {
        Seen {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The cell of a report with this contender.
pub(crate) fn cell<'a>(report: &'a Value, contender: &str) -> &'a Value {
    let cells = report["cells"].as_array().unwrap();
    cells.iter().find(|c| c["contender"] == contender).unwrap_or_else(|| panic!("no {contender}: {report}"))
}

/// Prints a missing requirement of a test; with `NETDYNO_REQUIRE=all`, fails.
pub(crate) fn skip(needed: &str) {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {needed}");
    println!("skipped: needs {needed}");
}
