//! Connections to the server, opened one at a time, so that their setup times are independent.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};

use super::limits::{ANSWER_TIMEOUT, CONNECT_TIMEOUT, OTHER_FILES};
use super::verify::Input;
use super::{Answer, GET_SETUP};
use crate::now_ns;

/// Opens `connections` connections and sends a GET of an unwritten key on each. Returns them in blocking mode, with the
/// setup time of each.
pub fn connect(peer: SocketAddr, connections: usize) -> Result<(Vec<TcpStream>, Vec<u64>), String> {
    raise_file_limit(connections as u64)?;
    let (mut links, mut setup_ns) = (Vec::with_capacity(connections), Vec::with_capacity(connections));
    let mut input = Input::default();
    for number in 1..=connections {
        let begun_ns = now_ns();
        let mut link = open(peer).map_err(|error| describe(&error, number, connections))?;
        let answer = link.write_all(GET_SETUP).and_then(|()| input.answer(&mut link));
        match answer.map_err(|error| describe(&error, number, connections))? {
            Answer::Null => {}
            other => {
                let other = other.describe();
                return Err(format!(
                    "connection {number} of {connections}: GET setup returned {other}, expected null"
                ));
            }
        }
        setup_ns.push(now_ns() - begun_ns);
        links.push(link);
    }
    Ok((links, setup_ns))
}

fn open(peer: SocketAddr) -> io::Result<TcpStream> {
    let link = TcpStream::connect_timeout(&peer, CONNECT_TIMEOUT)?;
    link.set_nodelay(true)?;
    link.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    link.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(link)
}

/// Describes an error of opening a connection, with its likely cause.
fn describe(error: &io::Error, number: usize, connections: usize) -> String {
    let which = format!("connection {number} of {connections}");
    match error.kind() {
        ErrorKind::ConnectionRefused if number == 1 => format!("{which} was refused; is the server running?"),
        ErrorKind::ConnectionRefused => format!("{which} was refused; does the server limit connections?"),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            format!("the server closed {which}; does it limit connections?")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            let waited = ANSWER_TIMEOUT.as_secs();
            format!("{which}: no answer to GET setup within {waited} s; does the server limit connections?")
        }
        ErrorKind::AddrNotAvailable => {
            format!("{which}: no local port is free; increase net.ipv4.ip_local_port_range")
        }
        _ => format!("{which}: {error}"),
    }
}

/// Raises the limit of open files for this number of connections.
pub fn raise_file_limit(connections: u64) -> Result<(), String> {
    let wanted = connections + OTHER_FILES;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit for the call to write to.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(format!("cannot read the limit of open files: {}", io::Error::last_os_error()));
    }
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    let raised = libc::rlimit { rlim_cur: wanted, rlim_max: limit.rlim_max.max(wanted) };
    // SAFETY: `raised` is a valid rlimit for the call to read.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } != 0 {
        let hard = limit.rlim_max;
        return Err(format!(
            "{connections} connections need {wanted} open files; the hard limit is {hard} (ulimit -Hn)"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::kv::NULL;

    /// Connects to a server that answers the first request of `served` connections and calls `then` with the next one.
    fn connected(served: usize, then: fn(TcpStream)) -> Result<(Vec<TcpStream>, Vec<u64>), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut held = Vec::new();
            for number in 0.. {
                let (mut link, _) = listener.accept().unwrap();
                if number == served {
                    return then(link);
                }
                link.read_exact(&mut [0; GET_SETUP.len()]).unwrap();
                link.write_all(NULL).unwrap();
                held.push(link);
            }
        });
        let result = connect(peer, 3);
        if result.is_ok() {
            drop(TcpStream::connect(peer));
        }
        server.join().unwrap();
        result
    }

    #[test]
    fn errors_name_the_cause() {
        let (links, setup_ns) = connected(3, drop).unwrap();
        assert_eq!((links.len(), setup_ns.len()), (3, 3));
        assert_eq!(
            connected(2, drop).unwrap_err(),
            "the server closed connection 3 of 3; does it limit connections?"
        );
        let wrong = |mut link: TcpStream| link.write_all(b"-ERR max number of clients reached\r\n").unwrap();
        let message = connected(1, wrong).unwrap_err();
        assert!(
            message.contains("connection 2 of 3") && message.contains("ERR max number of clients"),
            "{message}"
        );
    }

    #[test]
    fn too_many_connections_for_the_system_are_an_error() {
        let error = raise_file_limit(1 << 40).unwrap_err();
        assert!(error.contains("ulimit -Hn"), "{error}");
        raise_file_limit(1).unwrap();
    }
}
