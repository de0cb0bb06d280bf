//! The `kv` workload's server by a program that takes Redis' options: `redis-server`, or the one that is named as argument.

use std::process::Command;

use netdyno_contender::kv::{Place, Server, version_of};

/// Connections beside load's: ours while it starts, and whoever looks at it by hand.
const SPARE_CONNECTIONS: u64 = 100;

fn main() {
    let server = Server::connect();
    let program = std::env::args().nth(1).unwrap_or_else(|| "redis-server".to_owned());
    let version = version_of(&program).unwrap_or_else(|why| server.lab.failed(why));
    server.lab.ready(&program, &version, "a thread for all commands");
    server.runs(&program, |place| command(&program, place));
}

/// As it comes, but that nothing is kept on disk, and that the peer may have another address than ours.
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
