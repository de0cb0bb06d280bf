//! Ports that are in use when the server starts.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use netdyno_kv::{Backend, Server};

use super::support::{start, with};

#[test]
fn a_used_port_is_reported() {
    for threads in [1, 2] {
        let server = start(with(Backend::Auto).threads(threads));
        let address = server.addresses()[0];
        let error = Server::builder().bind(address).threads(threads).start().err().unwrap().to_string();
        assert!(error.contains(&address.to_string()) && error.contains("--port"), "{error}");
    }
}

/// The kernel closes the sockets of a killed server with io_uring after the process has ended.
#[test]
fn a_port_that_becomes_free_is_used() {
    for threads in [1, 2] {
        let holder = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = holder.local_addr().unwrap();
        let release = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(holder);
        });
        let server = Server::builder().bind(address).threads(threads).start().unwrap();
        assert_eq!(server.addresses(), [address]);
        release.join().unwrap();
    }
}
