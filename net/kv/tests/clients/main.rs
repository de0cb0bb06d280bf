//! Unmodified third-party clients against a server: redis-cli, redis-py, ioredis, go-redis.

#![allow(clippy::unwrap_used, missing_docs)]

mod order;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use netdyno_kv::Server;

/// Each client has its own server.
fn server() -> (Server, String) {
    let server = Server::builder().bind(([127, 0, 0, 1], 0)).start().unwrap();
    let port = server.addresses()[0].port().to_string();
    (server, port)
}

/// Prints a missing requirement; with `NETDYNO_REQUIRE=all` it is a failure.
fn skip(reason: &str) {
    assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs {reason}");
    println!("skipped: needs {reason}");
}

/// Runs a command to its end; `None` if there is no such program.
fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!("{}: {error}", command.get_program().display()));
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command) -> Option<String> {
    let output = run(command)?;
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    println!("{}", text(&output.stdout));
    Some(text(&output.stdout))
}

fn source(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(client)
}

/// Copies a client's directory out of the checkout and runs `install` there, which downloads its
/// dependencies.
fn installed(client: &str, lock: &str, made: &str, install: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kv-{client}"));
    fs::create_dir_all(&folder).unwrap();
    let locked = fs::read(source(client).join(lock)).unwrap();
    let is_there = folder.join(made).exists() && fs::read(folder.join(lock)).is_ok_and(|old| old == locked);
    for file in fs::read_dir(source(client)).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    if is_there || install(&folder) {
        return Some(folder);
    }
    // Invalidates the copy, so that the next run installs again.
    fs::remove_file(folder.join(lock)).unwrap();
    skip(&format!("what {client} is made of"));
    None
}

fn succeeds(command: &mut Command) -> bool {
    run(command).is_some_and(|output| {
        print!("{}", text(&output.stderr));
        output.status.success()
    })
}

#[test]
fn redis_py() {
    let install = |folder: &Path| {
        let pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", "requirements.txt"];
        succeeds(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))
            && succeeds(Command::new(folder.join("venv/bin/python")).args(pip).current_dir(folder))
    };
    let Some(folder) = installed("redis-py", "requirements.txt", "venv", install) else { return };
    let (_server, port) = server();
    succeed(Command::new(folder.join("venv/bin/python")).arg(folder.join("smoke.py")).arg(port));
}

#[test]
fn ioredis() {
    let install = |folder: &Path| {
        let ci = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        succeeds(Command::new("npm").args(ci).current_dir(folder))
    };
    let Some(folder) = installed("ioredis", "package-lock.json", "node_modules", install) else { return };
    let (_server, port) = server();
    succeed(Command::new("node").arg(folder.join("smoke.mjs")).arg(port));
}

#[test]
fn go_redis() {
    let (_server, port) = server();
    succeed(Command::new("go").args(["run", ".", &port]).current_dir(source("go-redis")));
}

#[test]
fn redis_cli() {
    let (_server, port) = server();
    let cli = |words: &[&str]| succeed(Command::new("redis-cli").args(["-p", &port]).args(words));
    // Input lines, and the output of redis-cli without a terminal.
    for (typed, printed) in [
        ("PING", "PONG\n"),
        ("SET greeting hello", "OK\n"),
        ("GET greeting", "hello\n"),
        ("RPUSH list a b c", "3\n"),
        ("LRANGE list 0 -1", "a\nb\nc\n"),
        ("HSET hash f 1 g 2", "2\n"),
        ("HSET one f 1", "1\n"),
        // The order of fields is not defined, so there is only one.
        ("-3 HGETALL one", "f 1\n"),
        ("GET nothing", "\n"),
        ("EXPIRE greeting 100", "1\n"),
        ("OBJECT ENCODING greeting", "embstr\n"),
    ] {
        let Some(found) = cli(&typed.split(' ').collect::<Vec<_>>()) else { return };
        assert_eq!(found, printed, "{typed}");
    }
    let scanned = cli(&["--scan", "--pattern", "*s*"]).unwrap();
    let mut keys: Vec<&str> = scanned.lines().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["hash", "list"]);
    assert!(cli(&["INFO"]).unwrap().contains("redis_version:"));
    let error = cli(&["NONSENSE"]).unwrap();
    assert!(error.contains("unknown command"), "{error}");
    // redis-cli's bulk mode and its key statistics.
    let mass = (0..1000).fold(Vec::new(), |mut commands, number: u32| {
        netdyno_resp::write_command(&mut commands, &[b"SET", format!("mass:{number}").as_bytes(), b"1"]);
        commands
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kv-mass");
    fs::write(&file, mass).unwrap();
    let mut pipe = Command::new("redis-cli");
    pipe.args(["-p", &port, "--pipe"]).stdin(fs::File::open(&file).unwrap());
    assert!(succeed(&mut pipe).unwrap().contains("errors: 0, replies: 1000"));
    assert!(cli(&["--bigkeys"]).unwrap().contains("Sampled 1004 keys"));
}
