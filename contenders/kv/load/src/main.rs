//! The load of the `kv` workload.
//!
//! | does | does not |
//! |---|---|
//! | keep `pipeline` requests under way on each connection, or send each when it is due | pause, or leave out what is late |
//! | compare every byte of every answer | keep a value: they are functions of the seed and the key |
//! | use one thread, and one call of the kernel for many sends where there is io_uring | share its CPU well: an open loop spins, unless `pacing` is `timer` |
//!
//! In an open loop the wait is until the exact moment: with `pacing` = `spin` the thread reads the clock and looks for answers in turn, and a
//! look costs no call of the kernel with io_uring. With `timer` it sleeps until then (to the nanosecond as far as the interface goes; the
//! kernel wakes it some tens of microseconds later).

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

/// Requests under way over all connections: each takes up to 32 bytes.
const MAX_UNDER_WAY: usize = 1 << 26;

fn main() {
    static BOOKS: OnceLock<Books> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| BOOKS.wait().handle(event));
    let books = BOOKS.get_or_init(|| Books::new(lab, &setup));
    let job = &books.job;
    if job.connections.saturating_mul(job.pipeline) > MAX_UNDER_WAY {
        lab.unsupported(format!("connections times pipeline above {MAX_UNDER_WAY}"));
    }
    // As much as comes at a time: the answers of a batch.
    let receive_bytes = job.pipeline.saturating_mul(job.value_bytes + 16);
    let size = Size { connections: job.connections, receive_bytes };
    let kind = Kind::from_arguments(lab, size);
    let version = lock_version(include_str!("../Cargo.lock"), "netdyno-kv-load");
    lab.ready("load", version, kind.name());
    if let Err(reason) = run(books, kind, size, &books.orders()) {
        lab.failed(reason);
    }
}

/// Ends with an error only.
fn run(books: &'static Books, kind: Kind, size: Size, orders: &Receiver<Order>) -> Result<(), String> {
    let job = &books.job;
    let next = || orders.recv().map_err(|error| error.to_string());
    let Order::Connect { port } = next()? else {
        return Err("a phase began before the server was there".to_owned());
    };
    let (mut links, setup_ns) = connect(job.peer(port), job.connections)?;
    books.connected(&setup_ns);
    let Order::Verify = next()? else {
        return Err("`verify` is the first phase".to_owned());
    };
    let verified = verify(job, &mut links)?;
    job.lab.verified(&verified.digest, verified.messages, verified.bytes);
    let Order::Load { t0_ns } = next()? else {
        return Err("`warmup` comes after `verify`".to_owned());
    };
    let mut load = Load::new(books, t0_ns);
    turns::run(kind, &mut load, links, None, size).map(|never| match never {})
}
