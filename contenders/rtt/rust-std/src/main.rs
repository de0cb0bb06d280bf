//! The `rtt` workload on the standard library: blocking sockets with one thread for each lane, connection and background
//! task.

mod wire;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use netdyno_contender::rtt::{self, Echo, Ping, Pong, Role, Threads, Transport, spawn_thread};

use crate::wire::{Tcp, Udp};

fn main() {
    let role = rtt::connect();
    let job = role.job();
    rtt::background_threads(job);
    job.lab.ready("rust-std", env!("RUSTC_VERSION"), "threads");
    match role {
        Role::Ping(ping) => ask(ping),
        Role::Pong(pong) => answer(pong).unwrap_or_else(|error| job.lab.failed(error)),
    }
    // The SDK ends the process on `stop`.
    loop {
        thread::park();
    }
}

fn ask(ping: &'static Ping) {
    let peer = ping.peer();
    for i in 0..ping.job.outstanding {
        spawn_thread(ping.job.lab, move || run_lane(ping, i, peer));
    }
}

fn run_lane(ping: &'static Ping, i: usize, peer: SocketAddr) -> io::Result<()> {
    let (job, lane) = (&ping.job, ping.lane(i));
    match job.transport {
        Transport::Udp => rtt::drive_blocking(lane, Udp::connect(job, peer)?, Threads::new(job)),
        Transport::Tcp => rtt::drive_blocking(lane, Tcp::connect(job, peer)?, Threads::new(job)),
    }
}

fn answer(pong: &'static Pong) -> io::Result<()> {
    let job = &pong.job;
    match job.transport {
        Transport::Udp => {
            let socket = UdpSocket::bind(job.local())?;
            pong.bound(socket.local_addr()?);
            spawn_thread(job.lab, move || echo_datagrams(&socket, pong.echo(0), vec![0; job.buffer_bytes()]));
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(job.local())?;
            pong.bound(listener.local_addr()?);
            spawn_thread(job.lab, move || accept(pong, &listener));
        }
    }
    Ok(())
}

fn echo_datagrams(socket: &UdpSocket, mut echo: Echo, mut buffer: Vec<u8>) -> io::Result<()> {
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        echo.answer(&buffer[..length]);
        socket.send_to(&buffer[..length], from)?;
    }
}

fn accept(pong: &'static Pong, listener: &TcpListener) -> io::Result<()> {
    let job = &pong.job;
    for i in 0..job.outstanding {
        let (stream, _) = listener.accept()?;
        spawn_thread(job.lab, move || {
            rtt::until_hang_up(echo_stream(stream, pong.echo(i), vec![0; job.message_bytes]))
        });
    }
    Ok(())
}

fn echo_stream(mut stream: TcpStream, mut echo: Echo, mut message: Vec<u8>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        stream.read_exact(&mut message)?;
        echo.answer(&message);
        stream.write_all(&message)?;
    }
}
