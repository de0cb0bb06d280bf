//! Competing traffic on the same link and in the same direction: one TCP flow of the kernel at the maximum rate of its congestion
//! control. Its bytes are the difference between the lab's wire counters and those of the connections.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_congestion;

/// The port is free, because a trial has a private network.
const PORT: u16 = 45_999;
const RETRY: Duration = Duration::from_millis(20);
const TRIES: usize = 250;

/// Sends to the other role until the process ends, with the congestion control `algorithm` (tcp(7), TCP_CONGESTION).
pub(crate) fn send(peer: IpAddr, algorithm: &str) -> io::Result<()> {
    let mut flow = connect(SocketAddr::new(peer, PORT))?;
    set_tcp_congestion(&flow, algorithm)
        .map_err(|error| io::Error::new(error.kind(), format!("TCP_CONGESTION {algorithm}: {error}")))?;
    thread::spawn(move || while flow.write_all(&[0; 65_536]).is_ok() {});
    Ok(())
}

/// Receives the traffic of the other role.
pub(crate) fn receive(local: IpAddr) -> io::Result<()> {
    let listener = TcpListener::bind((local, PORT))?;
    thread::spawn(move || {
        if let Ok((mut flow, _)) = listener.accept() {
            // The flow ends when its sender ends.
            let _ = io::copy(&mut flow, &mut io::sink());
        }
    });
    Ok(())
}

/// Connects with retries, because the other role may not listen yet.
fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let mut tried = TcpStream::connect(to);
    for _ in 1..TRIES {
        if tried.is_ok() {
            break;
        }
        thread::sleep(RETRY);
        tried = TcpStream::connect(to);
    }
    tried
}
