//! The upper bound of the `kv` workload: the minimal implementation of the contract.
//!
//! | does | does not |
//! |---|---|
//! | store values and answer requests, with any segmentation of the stream | validate a request beyond finding its end |
//! | use one thread; with io_uring, one call for all sends of a turn | hash a key: its number indexes a flat table |
//! | support the value length of the workload | other commands, types, expiry, errors, limits, several threads |

mod requests;
mod server;
mod table;

#[cfg(test)]
mod tests;

use std::net::TcpListener;
use std::sync::OnceLock;

use netdyno_contender::kv::{Job, raise_file_limit, turns};
use netdyno_contender::{Event, Lab, end, lock_version};
use serde_json::json;

use server::Server;
use table::Table;
use turns::{Kind, Size};

fn main() {
    static LAB: OnceLock<Lab> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| serve_lab(LAB.wait(), event));
    LAB.get_or_init(|| lab);
    let job = Job::new(lab, &setup, "server");
    // The length of a receive: the requests of a batch.
    let receive_bytes = job.pipeline.saturating_mul(job.value_bytes + 48);
    let size = Size { connections: job.connections, receive_bytes };
    let kind = Kind::from_arguments(lab, size);
    let table = Table::new(job.keys, job.connections as u64, job.verify_keys, job.value_bytes);
    let table = table.unwrap_or_else(|reason| lab.unsupported(reason));
    lab.ready("ceiling", lock_version(include_str!("../Cargo.lock"), "netdyno-kv-ceiling"), kind.name());
    if let Err(reason) = run(&job, kind, size, table) {
        lab.failed(reason);
    }
}

/// Answers the lab on the thread that reads stdin. A server ignores phases and has no counters.
fn serve_lab(lab: &Lab, event: Event) {
    match event {
        Event::Mark { id } => lab.counters(id, &[]),
        Event::Stop => {
            lab.result(&[]);
            end(0);
        }
        Event::Signal { .. } | Event::Start(_) => {}
    }
}

/// Returns only with an error.
fn run(job: &Job, kind: Kind, size: Size, table: Table) -> Result<(), String> {
    raise_file_limit(job.connections as u64)?;
    let listener = TcpListener::bind(job.local()).map_err(|error| format!("bind: {error}"))?;
    let port = listener.local_addr().map_err(|error| format!("cannot get the port: {error}"))?.port();
    job.lab.signal("load", json!({ "port": port }));
    job.lab.connected(&[]);
    turns::run(kind, &mut Server::new(table), Vec::new(), Some(listener), size).map(|never| match never {})
}
