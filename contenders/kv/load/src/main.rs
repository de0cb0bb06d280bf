//! The load generator of the `kv` workload.
//!
//! | does | does not |
//! |---|---|
//! | keep `pipeline` requests outstanding on each connection, or send each when it is due | pause, or skip late requests |
//! | compare every byte of every answer | keep a value: they are functions of the seed and the key |
//! | use one thread; with io_uring, one system call for many sends | leave CPU time to others: an open loop spins, unless `pacing` is `timer` |
//!
//! An open loop waits until the exact due time. With `pacing = spin`, the thread alternately polls the clock and the sockets; with
//! io_uring, this needs no system call. With `pacing = timer`, it sleeps until the due time; the kernel wakes it some tens of
//! microseconds later.

mod books;
mod check;
mod draw;
mod frames;
mod lane;
mod load;
mod pacer;
mod zipf;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;
use std::sync::mpsc::Receiver;

use netdyno_contender::kv::{connect, turns, verify};
use netdyno_contender::{Lab, lock_version};

use books::{Books, Order};
use load::Load;
use turns::{Kind, Size};

/// Maximum number of outstanding requests over all connections. Each takes up to 32 bytes.
const MAX_OUTSTANDING: usize = 1 << 26;

fn main() {
    static BOOKS: OnceLock<Books> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| BOOKS.wait().handle(event));
    let books = BOOKS.get_or_init(|| Books::new(lab, &setup));
    let job = &books.job;
    if job.connections.saturating_mul(job.pipeline) > MAX_OUTSTANDING {
        lab.unsupported(format!("connections * pipeline exceeds {MAX_OUTSTANDING}"));
    }
    // The length of a receive: the answers of a batch.
    let receive_bytes = job.pipeline.saturating_mul(job.value_bytes + 16);
    let size = Size { connections: job.connections, receive_bytes };
    let kind = Kind::from_arguments(lab, size);
    let version = lock_version(include_str!("../Cargo.lock"), "netdyno-kv-load");
    lab.ready("load", version, kind.name());
    if let Err(reason) = run(books, kind, size, &books.orders()) {
        lab.failed(reason);
    }
}

/// Returns only with an error.
fn run(books: &'static Books, kind: Kind, size: Size, orders: &Receiver<Order>) -> Result<(), String> {
    let job = &books.job;
    let next = || orders.recv().map_err(|error| error.to_string());
    let Order::Connect { port } = next()? else {
        return Err("a phase started before the server's signal".to_owned());
    };
    let (mut links, setup_ns) = connect(job.peer(port), job.connections)?;
    books.connected(&setup_ns);
    let Order::Verify = next()? else {
        return Err("the first phase must be `verify`".to_owned());
    };
    let verified = verify(job, &mut links)?;
    job.lab.verified(&verified.digest, verified.messages, verified.bytes);
    let Order::Load { t0_ns } = next()? else {
        return Err("`warmup` must follow `verify`".to_owned());
    };
    let mut load = Load::new(books, t0_ns);
    turns::run(kind, &mut load, links, None, size).map(|never| match never {})
}
