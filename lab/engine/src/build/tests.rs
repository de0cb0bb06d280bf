#![allow(clippy::unwrap_used)]
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::*;

/// A repository in a temporary folder, with one contender.
pub(super) struct Repository {
    pub(super) dir: tempfile::TempDir,
    pub(super) contender: Contender,
}

impl Repository {
    fn new(build: &str, run: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Path::new("contenders/w/tiny");
        let manifest = format!(
            "name = \"tiny\"\nworkload = \"w\"\nlanguage = \"x\"\nabout = \"tiny\"\nlicense = \"MIT\"\ntuning = \"defaults\"\n\
             implementation = {{ module = \"tiny\", version = \"1\" }}\n[build]\n{build}\n[roles.a]\nrun = {run}\n"
        );
        let mut contender = Contender::parse(&folder.join("contender.toml"), &manifest).unwrap();
        contender.dir = dir.path().join(folder);
        let repository = Self { dir, contender };
        for (file, text) in files {
            repository.write(&format!("contenders/w/tiny/{file}"), text);
        }
        repository
    }

    pub(super) fn cargo(main: &str) -> Self {
        let manifest = "[workspace]\n[package]\nname = \"w-tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let lock = "version = 4\n[[package]]\nname = \"w-tiny\"\nversion = \"0.1.0\"\n";
        let files = [("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/main.rs", main)];
        Self::new("tool = \"cargo\"", "[\"{bin}\", \"{dir}\"]", &files)
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn builder(&self) -> Builder {
        Builder::new(&self.dir.path().join("cache"), self.dir.path(), Arc::default()).unwrap()
    }

    pub(super) fn build(&self) -> Result<Built, BuildError> {
        self.builder().build(&self.contender, &mut |_| {})
    }
}

/// The output of the role.
fn output(built: &Built) -> String {
    let command = built.command("a").unwrap();
    let output = Command::new(&command.argv[0]).args(&command.argv[1..]).envs(&command.env).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the tool is installed; a failure if all tools are required.
fn have(repository: &Repository, tool: &str) -> bool {
    let here = repository.builder().availability(&repository.contender) == Availability::Available;
    let required = std::env::var("NETDYNO_REQUIRE").is_ok_and(|v| v == "all");
    assert!(here || !required, "needs {tool}");
    if !here {
        println!("skipped: needs {tool}");
    }
    here
}

#[test]
fn each_state_of_the_sources_is_built_once() {
    let repository = Repository::cargo("fn main() { println!(\"one\") }");
    let mut events = Vec::new();
    let built = repository.builder().build(&repository.contender, &mut |event| events.push(event)).unwrap();
    assert!(!built.cached);
    assert_eq!(output(&built), "one\n");
    assert_eq!(events.first(), Some(&BuildEvent::Started));
    assert!(events.iter().any(|e| matches!(e, BuildEvent::Line(line) if line.contains("Compiling w-tiny"))));
    assert!(matches!(events.last(), Some(BuildEvent::Finished { cached: false, .. })));
    assert_eq!(built.record.inputs, ["contenders/w/tiny"]);
    assert_eq!((built.record.files, built.record.lock_hash.as_ref().unwrap().len()), (3, 64));
    assert!(built.record.toolchain.contains("rustc 1."), "{}", built.record.toolchain);
    assert_eq!(built.command("a").unwrap().argv[1], built.dir.to_str().unwrap());
    assert!(built.command("b").is_none());

    let again = repository.build().unwrap();
    assert!(again.cached);
    assert_eq!(again.record, built.record);

    repository.write("contenders/w/tiny/target/debris", "not a source");
    assert!(repository.build().unwrap().cached);
    repository.write("contenders/w/tiny/src/main.rs", "fn main() { println!(\"two\") }");
    let changed = repository.build().unwrap();
    assert!(!changed.cached);
    assert_ne!(changed.record.key, built.record.key);
    assert_eq!((output(&changed), output(&built)), ("two\n".to_owned(), "one\n".to_owned()));
}

#[cfg(feature = "lines")]
#[test]
fn a_build_by_a_netdyno_that_counts_no_lines_is_repeated() {
    let repository = Repository::cargo("fn main() {}");
    let built = repository.build().unwrap();
    let record = Record { lines: built::not_countable(), ..built.record.clone() };
    write_whole(built.dir.parent().unwrap(), built::RECORD, &record).unwrap();
    let again = repository.build().unwrap();
    assert!(!again.cached);
    assert_eq!(again.record.lines, built.record.lines);
    assert!(repository.build().unwrap().cached);
}

#[test]
fn the_expected_duration_is_that_of_the_last_build_or_the_manifest() {
    let mut repository = Repository::cargo("fn main() {}");
    let expected = |repository: &Repository| repository.builder().expected_seconds(&repository.contender);
    assert_eq!(expected(&repository), 60.0);
    repository.contender.build.seconds = Some(7);
    assert_eq!(expected(&repository), 7.0);
    let built = repository.build().unwrap();
    assert_eq!(expected(&repository), 0.0);
    repository.write("contenders/w/tiny/contender.toml", "about = \"other words build nothing anew\"");
    assert_eq!(expected(&repository), 0.0);
    assert!(repository.build().unwrap().cached);
    repository.write("contenders/w/tiny/src/main.rs", "fn main() { println!() }");
    assert_eq!(expected(&repository), built.record.seconds);
}

#[test]
fn a_local_package_is_a_source() {
    let repository = Repository::cargo("fn main() { println!(\"{}\", part::PART) }");
    repository.write(
        "contenders/w/tiny/Cargo.toml",
        "[workspace]\n[package]\nname = \"w-tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\npart = { path = \"../../../part\" }\n",
    );
    repository.write(
        "contenders/w/tiny/Cargo.lock",
        "version = 4\n[[package]]\nname = \"part\"\nversion = \"0.1.0\"\n\
         [[package]]\nname = \"w-tiny\"\nversion = \"0.1.0\"\ndependencies = [\"part\"]\n",
    );
    repository
        .write("part/Cargo.toml", "[package]\nname = \"part\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    repository.write("part/src/lib.rs", "pub const PART: u32 = 1;");
    let built = repository.build().unwrap();
    assert_eq!(built.record.inputs, ["contenders/w/tiny", "part"]);
    repository.write("part/src/lib.rs", "pub const PART: u32 = 2;");
    assert_eq!(output(&repository.build().unwrap()), "2\n");
}

/// Rust flags in a configuration file are as much an input as those in the environment.
#[test]
fn a_configuration_of_cargo_is_a_source() {
    let repository = Repository::cargo("fn main() { println!(\"{}\", cfg!(special)) }");
    if !have(&repository, "cargo") {
        return;
    }
    assert_eq!(output(&repository.build().unwrap()), "false\n");
    repository.write(".cargo/config.toml", "[build]\nrustflags = [\"--cfg\", \"special\"]\n");
    assert_eq!(output(&repository.build().unwrap()), "true\n");
}

/// A library in another git repository, instead of a release.
#[test]
fn an_unreleased_library_is_named_with_its_revision() {
    let elsewhere = tempfile::tempdir().unwrap();
    let library = elsewhere.path().canonicalize().unwrap();
    let write = |file: &str, text: &str| fs::write(library.join(file), text).unwrap();
    fs::create_dir(library.join("src")).unwrap();
    write("Cargo.toml", "[package]\nname = \"part\"\nversion = \"1.0.0\"\nedition = \"2024\"\n");
    write("src/lib.rs", "pub const PART: u32 = 1;");
    let git = |arguments: &str| {
        let user = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let output = Command::new("git").args(user).args(arguments.split(' ')).current_dir(&library).output();
        assert!(output.unwrap().status.success(), "git {arguments}");
    };
    git("init -q");
    git("add .");
    git("commit -qm one");
    for how in ["[patch.crates-io]\npart", "[dependencies.part]\nversion = \"1\"\npath"] {
        let repository = Repository::cargo("fn main() { println!(\"{}\", part::PART) }");
        let (dependency, value) = match how.starts_with("[patch") {
            true => ("[dependencies]\npart = \"1\"\n", format!("{{ path = {library:?} }}")),
            false => ("", format!("{library:?}")),
        };
        let manifest = "[workspace]\n[package]\nname = \"w-tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        repository.write("contenders/w/tiny/Cargo.toml", &format!("{manifest}{dependency}{how} = {value}\n"));
        repository.write(
            "contenders/w/tiny/Cargo.lock",
            "version = 4\n[[package]]\nname = \"part\"\nversion = \"1.0.0\"\n\
             [[package]]\nname = \"w-tiny\"\nversion = \"0.1.0\"\ndependencies = [\"part\"]\n",
        );
        let clean = repository.build().unwrap_or_else(|e| panic!("{e}"));
        let said = clean.local.clone().unwrap();
        assert!(said.starts_with(&format!("{} (git ", library.display())) && said.ends_with(')'), "{said}");
        assert!(!said.contains("dirty"), "{said}");
        write("src/lib.rs", "pub const PART: u32 = 2;");
        let changed = repository.build().unwrap();
        assert_eq!(output(&changed), "2\n");
        assert_eq!(changed.local.unwrap(), said.replace(')', " dirty)"));
        git("checkout -q .");
    }
}

#[test]
fn local_archives_are_named_and_invalid_dependencies_are_rejected_with_a_remedy() {
    let package = "{\"name\": \"tiny\", \"version\": \"1.0.0\", \"dependencies\": {\"lib\": \"file:PATH\"}}";
    let wheel = "lib @ file:PATH --hash=sha256:00";
    let rows: [(&str, &str, &str); 2] =
        [("npm", "package.json", package), ("pip", "requirements.txt", wheel)];
    for (tool, file, text) in rows {
        let build = format!("tool = \"{tool}\"");
        let repository = Repository::new(&build, "[\"x\"]", &[("lib.tgz", ""), ("package-lock.json", "{}")]);
        if !have(&repository, tool) {
            continue;
        }
        let local = |path: &str| {
            repository.write(&format!("contenders/w/tiny/{file}"), &text.replace("PATH", path));
            repository.builder().inputs(&repository.contender).map(|inputs| inputs.local)
        };
        assert!(local("./lib.tgz").unwrap().unwrap().ends_with("./lib.tgz"));
        let error = local("../../lib").unwrap_err().to_string();
        let remedy = if tool == "npm" { "npm pack" } else { "pip wheel" };
        assert!(error.contains("../../lib") && error.contains(remedy), "{error}");
    }
}

#[test]
fn an_interrupted_build_is_repeated() {
    let repository = Repository::cargo("fn main() { println!(\"whole\") }");
    let built = repository.build().unwrap();
    let entry = built.dir.parent().unwrap();
    fs::remove_file(entry.join("build.json")).unwrap();
    fs::write(built.dir.join("tiny"), "half").unwrap();
    fs::write(entry.join("debris"), "").unwrap();
    let other = entry.with_file_name("tiny-0123456789abcdef");
    fs::create_dir(&other).unwrap();
    let again = repository.build().unwrap();
    assert!(!again.cached);
    assert_eq!(output(&again), "whole\n");
    assert!(!entry.join("debris").exists());
    assert!(!other.exists());
    // A record without its binary is not a build either.
    fs::remove_file(built.dir.join("tiny")).unwrap();
    assert!(!repository.build().unwrap().cached);
}

#[test]
fn two_labs_share_a_build() {
    let repository = Repository::cargo("fn main() { println!(\"once\") }");
    let built: Vec<Built> = std::thread::scope(|scope| {
        let labs: Vec<_> = (0..2).map(|_| scope.spawn(|| repository.build().unwrap())).collect();
        labs.into_iter().map(|lab| lab.join().unwrap()).collect()
    });
    assert_eq!(built.iter().filter(|b| b.cached).count(), 1);
    assert_eq!(output(&built[0]), output(&built[1]));
}

#[test]
fn two_cargo_builds_at_a_time_do_not_wait_for_each_other() {
    let repositories = [(); 2].map(|()| Repository::cargo("fn main() {}"));
    let folder = tempfile::tempdir().unwrap();
    let flags = ["first", "second"].map(|name| folder.path().join(name));
    for (repository, [own, others]) in
        repositories.iter().zip([[&flags[0], &flags[1]], [&flags[1], &flags[0]]])
    {
        // The build script ends when that of the other contender has started.
        let script = format!(
            "fn main() {{ std::fs::write({own:?}, \"\").unwrap(); for _ in 0..600 {{ \
             if std::path::Path::new({others:?}).exists() {{ return }} \
             std::thread::sleep(std::time::Duration::from_millis(100)); }} panic!(\"the only build\") }}"
        );
        repository.write("contenders/w/tiny/build.rs", &script);
    }
    let cache = folder.path().join("cache");
    std::thread::scope(|scope| {
        for repository in &repositories {
            let builder = Builder::new(&cache, repository.dir.path(), Arc::default()).unwrap();
            scope.spawn(move || builder.build(&repository.contender, &mut |_| {}).unwrap());
        }
    });
}

#[test]
fn a_source_that_changes_during_the_build_is_an_error() {
    let repository = Repository::cargo("fn main() {}");
    let source = repository.contender.dir.join("src/main.rs");
    let mut edit = |event| {
        if event == BuildEvent::Started {
            fs::write(&source, "fn main() { println!() }").unwrap();
        }
    };
    let error = repository.builder().build(&repository.contender, &mut edit).unwrap_err().to_string();
    assert!(error.contains("changed while it was built"), "{error}");
    assert!(!repository.build().unwrap().cached);
}

#[test]
fn a_failed_build_shows_its_last_lines() {
    let repository = Repository::cargo("fn main() { let x: u8 = \"no\"; }");
    let error = repository.build().unwrap_err();
    let BuildError::Tool { tail, log, remedy: None, .. } = &error else { panic!("{error}") };
    assert!(tail.iter().any(|line| line.contains("mismatched types")), "{tail:?}");
    assert!(tail.len() <= limits::TAIL_LINES);
    assert!(fs::read_to_string(log).unwrap().contains("mismatched types"));
    let text = error.to_string();
    assert!(text.starts_with("w/tiny: cargo build failed (exit status: 101)\n  | "), "{text}");
    repository.write("contenders/w/tiny/src/main.rs", "fn main() { println!(\"mended\") }");
    assert_eq!(output(&repository.build().unwrap()), "mended\n");
}

#[test]
fn sources_that_cannot_be_hashed_are_rejected() {
    let repository = Repository::cargo("fn main() {}");
    let lock = repository.contender.dir.join("Cargo.lock");
    let kept = fs::read(&lock).unwrap();
    fs::remove_file(&lock).unwrap();
    assert!(repository.build().unwrap_err().to_string().contains("cargo generate-lockfile"));
    fs::write(&lock, kept).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", repository.contender.dir.join("link")).unwrap();
    assert!(repository.build().unwrap_err().to_string().contains("use a copy instead of a link"));
}

#[test]
fn an_unwritable_cache_is_reported_with_a_remedy() {
    let repository = Repository::cargo("fn main() {}");
    // A file instead of the folder: root may write to any folder, so permissions would prove nothing.
    repository.write("file", "");
    let cache = repository.dir.path().join("file/cache");
    let builder = Builder::new(&cache, repository.dir.path(), Arc::default()).unwrap();
    let error = builder.build(&repository.contender, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("set NETDYNO_CACHE to a folder that can be written"), "{error}");
    let full = BuildError::cache(&cache, io::Error::from_raw_os_error(28)).to_string();
    assert!(full.contains("free some space"), "{full}");
}

#[test]
fn known_causes_have_remedies() {
    let remedy = |line: &str| remedy_for(&[line.to_owned()]).unwrap_or_default();
    assert!(remedy("[6] Could not resolve host: index").contains("network"));
    assert!(remedy("dial tcp: lookup proxy: no such host").contains("network"));
    assert!(remedy("npm error code ENOTFOUND").contains("network"));
    assert!(remedy("error: No space left on device (os error 28)").contains("disk is full"));
    assert!(remedy("EROFS: read-only file system").contains("NETDYNO_CACHE"));
    assert!(
        remedy("To find more information, look for \"package discovery\" on setuptools docs.")
            .contains("packages =")
    );
    assert_eq!(remedy("error: expected `;`"), "");
}

#[test]
fn a_cancelled_build_ends_with_all_its_processes() {
    // The build script would run for a minute.
    let repository = Repository::cargo("fn main() {}");
    let pid_file = repository.dir.path().join("pid");
    repository.write(
        "contenders/w/tiny/build.rs",
        &format!(
            "fn main() {{ let c = std::process::Command::new(\"sleep\").arg(\"60\").spawn().unwrap(); \
             std::fs::write({pid_file:?}, c.id().to_string()).unwrap(); \
             std::thread::sleep(std::time::Duration::from_secs(60)); }}"
        ),
    );
    let cancel = Arc::new(AtomicBool::new(false));
    let builder =
        Builder::new(&repository.dir.path().join("cache"), repository.dir.path(), cancel.clone()).unwrap();
    let begun = Instant::now();
    let error = std::thread::scope(|scope| {
        let build = scope.spawn(|| builder.build(&repository.contender, &mut |_| {}).unwrap_err());
        while !pid_file.exists() && begun.elapsed() < Duration::from_secs(50) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
        cancel.store(true, Ordering::Relaxed);
        build.join().unwrap()
    });
    assert!(matches!(error, BuildError::Cancelled { .. }), "{error}");
    let pid: i32 = fs::read_to_string(&pid_file).unwrap().parse().unwrap();
    let gone = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    while !gone() && begun.elapsed() < Duration::from_secs(55) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(gone());
}

#[test]
fn missing_prerequisites_are_named_with_a_remedy() {
    let needs = "tool = \"cargo\"\nneeds = [{ program = \"no-such-tool\", apt = \"no-such\" }, \
                 { pkg_config = \"no-such-lib\", apt = \"libnosuch-dev\" }]";
    let repository = Repository::new(needs, "[\"{bin}\"]", &[]);
    let availability = repository.builder().availability(&repository.contender);
    let Availability::Unavailable { reason, remedy } = availability else { panic!("available") };
    assert!(reason.starts_with("no-such-tool not found on the PATH; "), "{reason}");
    assert!(remedy.starts_with("apt-get install ") && remedy.contains("libnosuch-dev no-such"), "{remedy}");
    assert!(matches!(repository.build(), Err(BuildError::Unavailable { .. })));
}

#[test]
fn go_builds() {
    let main = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"go\") }\n";
    let files = [("go.mod", "module tiny\n\ngo 1.21\n"), ("main.go", main)];
    let repository = Repository::new("tool = \"go\"", "[\"{bin}\"]", &files);
    if !have(&repository, "go") {
        return;
    }
    let built = repository.build().unwrap();
    assert_eq!(output(&built), "go\n");
    assert_eq!(built.local, None);
    assert!(built.record.toolchain.contains("CGO_ENABLED"));
    assert_eq!(built.record.lock_hash, None);
    assert!(repository.build().unwrap().cached);
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().canonicalize().unwrap();
    let replaced =
        format!("module tiny\n\ngo 1.21\n\nreplace (\n\ta => {}\n\tb => c v1.2.3\n)\n", folder.display());
    repository.write("contenders/w/tiny/go.mod", &replaced);
    let local = repository.builder().inputs(&repository.contender).unwrap().local;
    assert_eq!(local, Some(format!("{}; c v1.2.3 for b", folder.display())));
}

/// The folders of a workspace would be in the program, but not in the key of its build.
#[test]
fn a_workspace_of_go_does_not_replace_modules() {
    let module = "module tiny\n\ngo 1.21\n\nrequire example.org/part v0.1.0\n\n\
                  replace example.org/part => ../../../part\n";
    let main = "package main\n\nimport \"example.org/part\"\n\nfunc main() { part.Say() }\n";
    let files = [("go.mod", module), ("main.go", main)];
    let repository = Repository::new("tool = \"go\"", "[\"{bin}\"]", &files);
    if !have(&repository, "go") {
        return;
    }
    for folder in ["part", "other"] {
        repository.write(&format!("{folder}/go.mod"), "module example.org/part\n\ngo 1.21\n");
        let text = format!("package part\n\nimport \"fmt\"\n\nfunc Say() {{ fmt.Println(\"{folder}\") }}\n");
        repository.write(&format!("{folder}/part.go"), &text);
    }
    repository.write("go.work", "go 1.21\n\nuse (\n\t./contenders/w/tiny\n\t./other\n)\n");
    let built = repository.build().unwrap();
    assert_eq!((output(&built).as_str(), &built.record.inputs[1]), ("part\n", &"part".to_owned()));
}

#[test]
fn cc_builds() {
    let main = "#include <stdio.h>\n#include \"word.h\"\nint main(void) { puts(word()); }\n";
    let files = [("contender.toml", "# what is pinned stands here\n"), ("main.c", main)];
    let repository = Repository::new("tool = \"cc\"\nsdk = \"c\"", "[\"{bin}\"]", &files);
    repository.write("contenders/sdk/c/word.h", "const char *word(void);\n");
    repository.write("contenders/sdk/c/word.c", "const char *word(void) { return \"c\"; }\n");
    // Subfolders are not part of the program: two main functions would not link.
    repository.write("contenders/sdk/c/tests/main.c", "int main(void) { return 1; }\n");
    if !have(&repository, "cc and pkg-config") {
        return;
    }
    let built = repository.build().unwrap();
    assert_eq!(output(&built), "c\n");
    assert_eq!(built.record.inputs, ["contenders/w/tiny", "contenders/sdk/c"]);
    assert!(repository.build().unwrap().cached);
    repository.write("contenders/sdk/c/word.c", "const char *word(void) { return \"changed\"; }\n");
    assert_eq!(output(&repository.build().unwrap()), "changed\n");
}

#[test]
fn npm_builds() {
    let package = "{\"name\": \"tiny\", \"version\": \"1.0.0\"}";
    let lock = "{\"name\": \"tiny\", \"version\": \"1.0.0\", \"lockfileVersion\": 3, \"requires\": true, \
                \"packages\": {\"\": {\"name\": \"tiny\", \"version\": \"1.0.0\"}}}";
    let main = "console.log(require('netdyno-contender').word)";
    let files = [("package.json", package), ("package-lock.json", lock), ("main.js", main)];
    let repository =
        Repository::new("tool = \"npm\"\nsdk = \"node\"", "[\"{node}\", \"{dir}/main.js\"]", &files);
    repository.write("contenders/sdk/node/index.js", "exports.word = 'node'");
    if !have(&repository, "node and npm") {
        return;
    }
    let built = repository.build().unwrap();
    assert_eq!(output(&built), "node\n");
    assert_eq!(built.record.inputs, ["contenders/w/tiny", "contenders/sdk/node"]);
    assert!(repository.build().unwrap().cached);
    repository.write("contenders/sdk/node/index.js", "exports.word = 'changed'");
    assert_eq!(output(&repository.build().unwrap()), "changed\n");
}

#[test]
fn pip_builds() {
    let files =
        [("requirements.txt", "# none\n"), ("main.py", "import word, sys; print(word.WORD, sys.prefix)")];
    let repository =
        Repository::new("tool = \"pip\"\nsdk = \"python\"", "[\"{python}\", \"{src}/main.py\"]", &files);
    repository.write("contenders/sdk/python/word.py", "WORD = 'python'");
    if !have(&repository, "python3 with venv") {
        return;
    }
    let built = repository.build().unwrap();
    let said = output(&built);
    assert!(said.starts_with("python ") && said.contains("/venv"), "{said}");
    assert!(repository.build().unwrap().cached);
    // The built copy runs, whatever becomes of the source, and wherever it is.
    repository.write("contenders/w/tiny/main.py", "print('changed')");
    assert_eq!(output(&built), said);
    let command = built.command("a").unwrap();
    let source = repository.contender.dir.display().to_string();
    assert!(
        command.argv.iter().chain(command.env.values()).all(|text| !text.contains(&source)),
        "{command:?}"
    );
}

/// Creates a wheel of one module.
const BACKEND: &str = r#"
import os, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, about = "word-1.0-py3-none-any.whl", "word-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("word.py")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: word\nVersion: 1.0\n")
        os.mkdir("build")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "".join(f"{file},,\n" for file in ["word.py", *(f"{about}/{f}" for f in ("METADATA", "WHEEL", "RECORD"))]))
    return name
"#;

#[test]
fn pip_builds_and_installs_a_package_of_the_repository() {
    let files = [("requirements.txt", "# none\n"), ("main.py", "import word; print(word.WORD)")];
    let project = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n";
    // The package in a folder, and at the root of the repository.
    for folder in ["lib/word", "."] {
        let build = format!("tool = \"pip\"\nsources = [\"{folder}\"]");
        let repository = Repository::new(&build, "[\"{python}\", \"{dir}/main.py\"]", &files);
        let write = |file: &str, text: &str| repository.write(&format!("{folder}/{file}"), text);
        write("word.py", "WORD = 'built'");
        write("backend.py", BACKEND);
        write("pyproject.toml", project);
        if !have(&repository, "python3 with venv") {
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let build = || {
            let builder = Builder::new(cache.path(), repository.dir.path(), Arc::default()).unwrap();
            builder.build(&repository.contender, &mut |_| {}).unwrap()
        };
        assert_eq!(output(&build()), "built\n", "{folder}");
        write("word.py", "WORD = 'changed'");
        assert_eq!(output(&build()), "changed\n", "{folder}");
        let written = repository.dir.path().join(folder).join("build");
        assert!(!written.exists(), "{folder}: the backend wrote into the source");
    }
}

#[test]
fn a_tool_whose_file_exceeds_the_limit_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let cancel = AtomicBool::new(false);
    let run = |most| {
        let mut command = Command::new("sh");
        command.args(["-c", "truncate -s 4096 \"$0\"; echo there; exec sleep \"$1\""]).arg(&file);
        command.arg(if most < 4096 { "60" } else { "0" });
        let watch = Watch::new(&cancel, Duration::from_secs(30)).making(&file, most);
        process::run(&mut command, watch, &mut |_, _| {})
    };
    assert!(matches!(run(4095), Err(process::Stop::TooLong)));
    assert!(run(4096).unwrap().success());
}
