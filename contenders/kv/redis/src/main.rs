//! The server of the `kv` workload on a program with Redis' options: `redis-server`, or the program named by the argument.

use std::process::Command;

use netdyno_contender::kv::{Place, Server, version_of};

/// Additional connections: this adapter's during the start, and manual ones.
const SPARE_CONNECTIONS: u64 = 100;

fn main() {
    let server = Server::connect();
    let program = std::env::args().nth(1).unwrap_or_else(|| "redis-server".to_owned());
    let version = version_of(&program).unwrap_or_else(|why| server.lab.failed(why));
    server.lab.ready(&program, &version, "one thread for all commands");
    server.runs(&program, |place| command(&program, place));
}

/// Default settings, except that persistence and protected mode are off.
fn command(program: &str, place: &Place) -> Command {
    let connections = place.connections + SPARE_CONNECTIONS;
    let options = [
        ("--bind", place.address.ip().to_string()),
        ("--port", place.address.port().to_string()),
        ("--protected-mode", "no".to_owned()),
        ("--save", String::new()),
        ("--appendonly", "no".to_owned()),
        ("--maxclients", connections.to_string()),
        ("--daemonize", "no".to_owned()),
    ];
    let mut command = Command::new(program);
    for (name, value) in options {
        command.args([name, &value]);
    }
    command
}
