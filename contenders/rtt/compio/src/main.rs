//! The `rtt` workload on compio over io_uring: one task for each lane, connection and background task, all on one thread.

mod wire;

use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use compio::BufResult;
use compio::io::{AsyncReadExt, AsyncWriteExt};
use compio::net::{TcpListener, TcpStream, UdpSocket};
use compio::runtime::Runtime;
use netdyno_contender::rtt::{self, Echo, Ping, Pong, Role, Ticks, Timer, Transport};
use netdyno_contender::{Lab, lock_version};

use crate::wire::{Tcp, connect_udp};

fn main() {
    let role = rtt::connect();
    let lab = role.job().lab;
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => lab.unsupported(format!("no io_uring: {error}")),
    };
    lab.ready("compio", lock_version(include_str!("../Cargo.lock"), "compio"), "compio");
    if let Role::Ping(ping) = role {
        // This call blocks, so it precedes the start of the runtime's work.
        ping.peer();
    }
    if let Err(error) = runtime.block_on(run(role)) {
        lab.failed(error);
    }
}

/// Returns only with an error.
async fn run(role: &'static Role) -> io::Result<()> {
    match role {
        Role::Ping(ping) => ask(ping),
        Role::Pong(pong) => answer(pong).await?,
    }
    rtt::background(role.job(), &Clock, |work| compio::runtime::spawn(rtt::work(work, Clock)).detach()).await;
    pending().await
}

/// The waiting functions of the runtime.
struct Clock;

impl Timer for Clock {
    /// compio has no such function: the task wakes itself and runs again after other ready tasks.
    async fn yield_now(&self) {
        let mut yielded = false;
        poll_fn(|cx| {
            if yielded {
                return Poll::Ready(());
            }
            yielded = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    async fn sleep(&self, duration: Duration) {
        compio::time::sleep(duration).await;
    }

    async fn sleep_until(&self, due_ns: u64) {
        compio::time::sleep_until(rtt::instant(due_ns)).await;
    }
}

/// Runs `body` as a separate task. An error ends the process.
fn spawn(lab: Lab, body: impl Future<Output = io::Result<()>> + 'static) {
    compio::runtime::spawn(async move { body.await.unwrap_or_else(|error| lab.failed(error)) }).detach();
}

fn ask(ping: &'static Ping) {
    let (peer, ticks) = (ping.peer(), Rc::<Ticks>::default());
    compio::runtime::spawn(rtt::ring(Rc::clone(&ticks), Clock)).detach();
    for i in 0..ping.job.outstanding {
        spawn(ping.job.lab, run_lane(ping, i, peer, Rc::clone(&ticks)));
    }
}

async fn run_lane(ping: &'static Ping, i: usize, peer: SocketAddr, ticks: Rc<Ticks>) -> io::Result<()> {
    let (job, lane) = (&ping.job, ping.lane(i));
    match job.transport {
        Transport::Udp => rtt::drive(lane, connect_udp(job, peer, &ticks).await?, Clock).await,
        Transport::Tcp => rtt::drive(lane, Tcp::connect(job, peer).await?, Clock).await,
    }
}

async fn answer(pong: &'static Pong) -> io::Result<()> {
    let job = &pong.job;
    match job.transport {
        Transport::Udp => {
            let socket = UdpSocket::bind(job.local()).await?;
            pong.bound(socket.local_addr()?);
            spawn(job.lab, echo_datagrams(socket, pong.echo(0), vec![0; job.buffer_bytes()]));
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(job.local()).await?;
            pong.bound(listener.local_addr()?);
            spawn(job.lab, accept(pong, listener));
        }
    }
    Ok(())
}

async fn echo_datagrams(socket: UdpSocket, mut echo: Echo, mut buffer: Vec<u8>) -> io::Result<()> {
    loop {
        let BufResult(received, mut message) = socket.recv_from(buffer).await;
        let (length, from) = received?;
        message.truncate(length);
        echo.answer(&message);
        let sent;
        BufResult(sent, buffer) = socket.send_to(message, from).await;
        sent?;
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
        let BufResult(result, filled) = stream.read_exact(message).await;
        result?;
        echo.answer(&filled);
        let BufResult(result, sent) = stream.write_all(filled).await;
        result?;
        message = sent;
    }
}
