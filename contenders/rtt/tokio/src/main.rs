//! The `rtt` workload on Tokio: one task for each lane, connection and background task. It uses the multi-thread scheduler with
//! the default number of workers, or with `--current-thread` the current-thread scheduler. With `--block-on`, the first lane of
//! ping and the socket of pong run in `block_on` on the main thread, which is not a worker, instead of in a task.

mod wire;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use netdyno_contender::rtt::{self, Echo, Ping, Pong, Role, Timer, Transport};
use netdyno_contender::{Lab, lock_version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Builder;

use crate::wire::{Tcp, Udp};

fn main() {
    let role = rtt::connect();
    let job = role.job();
    let argument = std::env::args().nth(1);
    let (name, mut builder, on_main) = match argument.as_deref() {
        Some("--current-thread") => ("tokio-current-thread", Builder::new_current_thread(), false),
        Some("--block-on") => ("tokio-block-on", Builder::new_multi_thread(), true),
        _ => ("tokio", Builder::new_multi_thread(), false),
    };
    job.lab.ready(name, lock_version(include_str!("../Cargo.lock"), "tokio"), "tokio");
    if let Role::Ping(ping) = role {
        // This call blocks, so it precedes the start of the runtime.
        ping.peer();
    }
    let ran = builder.enable_all().build().and_then(|runtime| runtime.block_on(run(role, on_main)));
    if let Err(error) = ran {
        job.lab.failed(error);
    }
}

/// Returns only with an error.
async fn run(role: &'static Role, on_main: bool) -> io::Result<()> {
    let job = role.job();
    tokio::spawn(rtt::background(job, &Clock, |work| drop(tokio::spawn(rtt::work(work, Clock)))));
    match role {
        Role::Ping(ping) => {
            let peer = ping.peer();
            for i in 1..job.outstanding {
                spawn(job.lab, run_lane(ping, i, peer));
            }
            place(job.lab, on_main, run_lane(ping, 0, peer)).await
        }
        Role::Pong(pong) => answer(pong, on_main).await,
    }
}

/// Runs `body` in the caller, or as a separate task. Returns only with an error.
async fn place(
    lab: Lab,
    here: bool,
    body: impl Future<Output = io::Result<()>> + Send + 'static,
) -> io::Result<()> {
    if here {
        body.await?;
    } else {
        spawn(lab, body);
    }
    std::future::pending().await
}

/// The waiting functions of the runtime.
struct Clock;

impl Timer for Clock {
    async fn yield_now(&self) {
        tokio::task::yield_now().await;
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn sleep_until(&self, due_ns: u64) {
        tokio::time::sleep_until(rtt::instant(due_ns).into()).await;
    }
}

/// Runs `body` as a separate task. An error ends the process.
fn spawn(lab: Lab, body: impl Future<Output = io::Result<()>> + Send + 'static) {
    tokio::spawn(async move { body.await.unwrap_or_else(|error| lab.failed(error)) });
}

async fn run_lane(ping: &'static Ping, i: usize, peer: SocketAddr) -> io::Result<()> {
    let (job, lane) = (&ping.job, ping.lane(i));
    match job.transport {
        Transport::Udp => rtt::drive(lane, Udp::connect(job, peer).await?, Clock).await,
        Transport::Tcp => rtt::drive(lane, Tcp::connect(job, peer).await?, Clock).await,
    }
}

async fn answer(pong: &'static Pong, on_main: bool) -> io::Result<()> {
    let job = &pong.job;
    match job.transport {
        Transport::Udp => {
            let socket = UdpSocket::bind(job.local()).await?;
            pong.bound(socket.local_addr()?);
            let echo = echo_datagrams(socket, pong.echo(0), vec![0; job.buffer_bytes()]);
            place(job.lab, on_main, echo).await
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(job.local()).await?;
            pong.bound(listener.local_addr()?);
            // Each connection is a task in either case.
            place(job.lab, on_main, accept(pong, listener)).await
        }
    }
}

async fn echo_datagrams(socket: UdpSocket, mut echo: Echo, mut buffer: Vec<u8>) -> io::Result<()> {
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        echo.answer(&buffer[..length]);
        socket.send_to(&buffer[..length], from).await?;
    }
}

async fn accept(pong: &'static Pong, listener: TcpListener) -> io::Result<()> {
    let job = &pong.job;
    for i in 0..job.outstanding {
        let (stream, _) = listener.accept().await?;
        let message = vec![0; job.message_bytes];
        spawn(job.lab, async move { rtt::until_hang_up(echo_stream(stream, pong.echo(i), message).await) });
    }
    Ok(())
}

async fn echo_stream(mut stream: TcpStream, mut echo: Echo, mut message: Vec<u8>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        stream.read_exact(&mut message).await?;
        echo.answer(&message);
        stream.write_all(&message).await?;
    }
}
