//! The `rtt` workload on glommio: one task for each lane, connection and background task, all on one `LocalExecutor` with
//! default settings.

mod wire;

use std::io;
use std::net::SocketAddr;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use glommio::net::{TcpListener, TcpStream, UdpSocket};
use glommio::timer::sleep;
use glommio::{LocalExecutorBuilder, spawn_local};
use netdyno_contender::rtt::{self, Echo, Ping, Pong, Role, TICK, Ticks, Timer, Transport};
use netdyno_contender::{Lab, lock_version};

use crate::wire::{Tcp, connect_udp};

/// The shortest effective sleep: a shorter one has expired when it is first polled.
const INSTANT: Duration = Duration::from_micros(1);

fn main() {
    let role = rtt::connect();
    let lab = role.job().lab;
    // glommio panics if io_uring is refused, and returns an error if the limit of locked memory is too low.
    let local = match catch_unwind(|| LocalExecutorBuilder::default().make()) {
        Ok(Ok(local)) => local,
        Ok(Err(error)) => lab.unsupported(error),
        Err(_) => lab.unsupported("io_uring is not available, or lacks a feature that glommio needs"),
    };
    lab.ready("glommio", lock_version(include_str!("../Cargo.lock"), "glommio"), "glommio");
    if let Role::Ping(ping) = role {
        // This call blocks, so it precedes the start of the runtime's work.
        ping.peer();
    }
    if let Err(error) = local.run(run(role)) {
        lab.failed(error);
    }
}

/// Returns only with an error.
async fn run(role: &'static Role) -> io::Result<()> {
    match role {
        Role::Ping(ping) => ask(ping),
        Role::Pong(pong) => answer(pong)?,
    }
    rtt::background(role.job(), &Clock, |work| drop(spawn_local(rtt::work(work, Clock)).detach())).await;
    // glommio 0.9 parks despite ready tasks if its preemption timer fires before the first of them runs, as may happen on a
    // busy machine. Any other timer wakes it.
    loop {
        sleep(TICK).await;
    }
}

/// The waiting functions of the runtime.
struct Clock;

impl Timer for Clock {
    /// Sleeps through the reactor: glommio's own `yield_now` keeps the task ready, and while a task is ready, sockets and
    /// timers are polled only every 100 ms.
    async fn yield_now(&self) {
        sleep(INSTANT).await;
    }

    async fn sleep(&self, duration: Duration) {
        sleep(duration).await;
    }
}

/// Runs `body` as a separate task. An error ends the process.
fn spawn(lab: Lab, body: impl Future<Output = io::Result<()>> + 'static) {
    spawn_local(async move { body.await.unwrap_or_else(|error| lab.failed(error)) }).detach();
}

fn ask(ping: &'static Ping) {
    let (peer, ticks) = (ping.peer(), Rc::<Ticks>::default());
    spawn_local(rtt::ring(Rc::clone(&ticks), Clock)).detach();
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

fn answer(pong: &'static Pong) -> io::Result<()> {
    let job = &pong.job;
    match job.transport {
        Transport::Udp => {
            let socket = UdpSocket::bind(job.local())?;
            pong.bound(socket.local_addr()?);
            spawn(job.lab, echo_datagrams(socket, pong.echo(0), vec![0; job.buffer_bytes()]));
        }
        Transport::Tcp => {
            let listener = TcpListener::bind(job.local())?;
            pong.bound(listener.local_addr()?);
            spawn(job.lab, accept(pong, listener));
        }
    }
    Ok(())
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
        let stream = listener.accept().await?;
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
