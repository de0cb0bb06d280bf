//! The server of the `kv` workload on mini-redis: like its program `mini-redis-server`, but at the lab's address.

use std::future::pending;

use netdyno_contender::kv::Server;
use netdyno_contender::lock_version;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tracing_subscriber::filter::LevelFilter;

fn main() {
    let server = Server::connect();
    let lab = server.lab;
    lab.ready(
        "mini-redis",
        lock_version(include_str!("../Cargo.lock"), "mini-redis"),
        "one task per connection",
    );
    // Its program also logs errors by default.
    tracing_subscriber::fmt().with_max_level(LevelFilter::ERROR).with_writer(std::io::stderr).init();
    let runtime = Runtime::new().unwrap_or_else(|e| lab.failed(format!("no runtime: {e}")));
    let bound = runtime.block_on(TcpListener::bind((server.local, 0)));
    let listener = bound.unwrap_or_else(|e| lab.failed(format!("cannot listen at {}: {e}", server.local)));
    let port = listener.local_addr().map(|address| address.port());
    let port = port.unwrap_or_else(|e| lab.failed(format!("the listener has no address: {e}")));
    runtime.spawn(async move {
        let ended = mini_redis::server::run(listener, pending::<()>()).await;
        lab.failed(format!("the server ended: {ended:?}"));
    });
    server.listens(port)
}
