//! Traffic beside the connections, on the same link and in the same direction: one TCP flow of the kernel, as fast as its congestion
//! control lets it. What it carries is what the lab's count of the wire has beyond ours.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_tcp_congestion;

/// The network of a trial is its own, so that the port is free.
const PORT: u16 = 45_999;
const RETRY: Duration = Duration::from_millis(20);
const TRIES: usize = 250;

/// Sends to the other role for as long as this process lives, by `algorithm` (tcp(7), TCP_CONGESTION).
pub(crate) fn send(peer: IpAddr, algorithm: &str) -> io::Result<()> {
    let mut flow = connect(SocketAddr::new(peer, PORT))?;
    set_tcp_congestion(&flow, algorithm)
        .map_err(|error| io::Error::new(error.kind(), format!("TCP_CONGESTION {algorithm}: {error}")))?;
    thread::spawn(move || while flow.write_all(&[0; 65_536]).is_ok() {});
    Ok(())
}

/// Takes what the other role sends.
pub(crate) fn receive(local: IpAddr) -> io::Result<()> {
    let listener = TcpListener::bind((local, PORT))?;
    thread::spawn(move || {
        if let Ok((mut flow, _)) = listener.accept() {
            // It ends with its sender.
            let _ = io::copy(&mut flow, &mut io::sink());
        }
    });
    Ok(())
}

/// The other role may not listen yet.
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
