//! The `rtt` workload on may with default settings: one coroutine for each lane, connection and background task.

mod wire;

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use may::coroutine;
use may::net::{TcpListener, TcpStream, UdpSocket};
use netdyno_contender::rtt::{self, BlockingTimer, Echo, Ping, Pong, Role, Transport};
use netdyno_contender::{Lab, lock_version};

use crate::wire::{Tcp, Udp};

fn main() {
    let role = rtt::connect();
    let job = role.job();
    job.lab.ready("may", lock_version(include_str!("../Cargo.lock"), "may"), "may");
    match role {
        Role::Ping(ping) => ask(ping),
        Role::Pong(pong) => answer(pong).unwrap_or_else(|error| job.lab.failed(error)),
    }
    rtt::background_blocking(job, &Coroutines, |work| {
        spawn(job.lab, move || rtt::work_blocking(work, Coroutines));
    });
    // The SDK ends the process on `stop`.
    loop {
        thread::park();
    }
}

/// The waiting functions of a coroutine.
struct Coroutines;

impl BlockingTimer for Coroutines {
    fn yield_now(&self) {
        coroutine::yield_now();
    }

    fn sleep(&self, duration: Duration) {
        coroutine::sleep(duration);
    }
}

/// Runs `body` as a separate coroutine. An error ends the process.
fn spawn(lab: Lab, body: impl FnOnce() -> io::Result<()> + Send + 'static) {
    may::go!(move || body().unwrap_or_else(|error| lab.failed(error)));
}

fn ask(ping: &'static Ping) {
    let peer = ping.peer();
    for i in 0..ping.job.outstanding {
        spawn(ping.job.lab, move || run_lane(ping, i, peer));
    }
}

fn run_lane(ping: &'static Ping, i: usize, peer: SocketAddr) -> io::Result<()> {
    let (job, lane) = (&ping.job, ping.lane(i));
    match job.transport {
        Transport::Udp => rtt::drive_blocking(lane, Udp::connect(job, peer)?, Coroutines),
        Transport::Tcp => rtt::drive_blocking(lane, Tcp::connect(job, peer)?, Coroutines),
    }
}

fn answer(pong: &'static Pong) -> io::Result<()> {
    let job = &pong.job;
    match job.transport {
        Transport::Udp => {
            let socket = UdpSocket::bind(job.local())?;
            pong.bound(socket.local_addr()?);
            spawn(job.lab, move || echo_datagrams(&socket, pong.echo(0), vec![0; job.buffer_bytes()]));
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(job.local())?;
            pong.bound(listener.local_addr()?);
            spawn(job.lab, move || accept(pong, &listener));
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
        spawn(job.lab, move || {
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
