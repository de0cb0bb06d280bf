//! The `kv` workload's server by mini-redis, on Tokio's scheduler of many threads, as its own program runs it.

use netdyno_contender::kv::Server;
use netdyno_contender::lock_version;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

fn main() {
    let server = Server::connect();
    server.lab.ready("mini-redis", lock_version(include_str!("../Cargo.lock"), "mini-redis"), "tokio");
    let failed = |error: std::io::Error| -> ! { server.lab.failed(error) };
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap_or_else(|e| failed(e));
    let listener = runtime.block_on(TcpListener::bind((server.local, 0))).unwrap_or_else(|e| failed(e));
    let address = listener.local_addr().unwrap_or_else(|e| failed(e));
    runtime.spawn(mini_redis::server::run(listener, std::future::pending::<()>()));
    server.listens(address.port());
}
