//! The server of the `kv` workload on netdyno-kv, as its documentation shows it.

use std::error::Error;
use std::sync::OnceLock;

use netdyno_contender::kv::{Job, raise_file_limit};
use netdyno_contender::{Event, Lab, end, lock_version};
use netdyno_kv::{Backend, Builder, Limits, Server};
use serde_json::json;

fn main() {
    static LAB: OnceLock<Lab> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| serve_lab(LAB.wait(), event));
    LAB.get_or_init(|| lab);
    let job = Job::new(lab, &setup, "server");
    lab.ready("netdyno-kv", lock_version(include_str!("../Cargo.lock"), "netdyno-kv"), "one thread");
    if let Err(error) = serve(&job) {
        lab.failed(error);
    }
}

/// On the thread that reads stdin. A server knows nothing of phases, and counts nothing.
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

fn serve(job: &Job) -> Result<(), Box<dyn Error>> {
    raise_file_limit(job.connections as u64)?;
    let mut limits = Limits::default();
    limits.clients = limits.clients.max(job.connections);
    // The network of a trial is its own.
    let server = asked(Server::builder())?.bind(job.local()).protected_mode(false).limits(limits).start()?;
    job.lab.signal("load", json!({ "port": server.addresses()[0].port() }));
    job.lab.connected(&[]);
    Ok(server.wait()?)
}

/// The library's defaults, but for what is asked on the command line.
fn asked(mut builder: Builder) -> Result<Builder, Box<dyn Error>> {
    for argument in std::env::args().skip(1) {
        builder = match argument.split_once('=') {
            Some(("--io", "epoll")) => builder.backend(Backend::Epoll),
            Some(("--io", "io_uring")) => builder.backend(Backend::Uring),
            Some(("--threads", count)) => builder.threads(count.parse()?),
            _ => return Err(format!("{argument}: none of --io=epoll|io_uring, --threads=N").into()),
        };
    }
    Ok(builder)
}
