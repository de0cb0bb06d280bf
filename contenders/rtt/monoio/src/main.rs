//! The `rtt` workload on monoio over io_uring, with its timer enabled: one task for each lane, connection and background
//! task, all on one thread.

mod wire;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use monoio::io::{AsyncReadRentExt, AsyncWriteRentExt};
use monoio::net::udp::UdpSocket;
use monoio::net::{TcpListener, TcpStream, UnixStream};
use monoio::{IoUringDriver, RuntimeBuilder};
use netdyno_contender::rtt::{self, Echo, Ping, Pong, Role, Ticks, Timer, Transport};
use netdyno_contender::{Lab, lock_version};

use crate::wire::{Tcp, connect_udp};

fn main() {
    let role = rtt::connect();
    let lab = role.job().lab;
    let mut runtime = match RuntimeBuilder::<IoUringDriver>::new().enable_timer().build() {
        Ok(runtime) => runtime,
        Err(error) => lab.unsupported(format!("no io_uring: {error}")),
    };
    lab.ready("monoio", lock_version(include_str!("../Cargo.lock"), "monoio"), "monoio");
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
    let clock = Clock::new()?;
    match role {
        Role::Ping(ping) => ask(ping, &clock),
        Role::Pong(pong) => answer(pong)?,
    }
    rtt::background(role.job(), &clock, |work| drop(monoio::spawn(rtt::work(work, clock.clone())))).await;
    std::future::pending().await
}

/// The waiting functions of the runtime.
#[derive(Clone)]
struct Clock(Rc<[UnixStream; 2]>);

impl Clock {
    fn new() -> io::Result<Self> {
        UnixStream::pair().map(|(one, other)| Self(Rc::new([one, other])))
    }
}

impl Timer for Clock {
    /// Yields through the ring by an operation that completes at once. A task of monoio that only wakes itself runs before all
    /// others again, and timers are polled only when no task is ready.
    async fn yield_now(&self) {
        // The result is irrelevant, because the socket is not used otherwise.
        drop(self.0[0].writable(true).await);
    }

    async fn sleep(&self, duration: Duration) {
        monoio::time::sleep(duration).await;
    }

    async fn sleep_until(&self, due_ns: u64) {
        monoio::time::sleep_until(rtt::instant(due_ns).into()).await;
    }
}

/// Runs `body` as a separate task. An error ends the process.
fn spawn(lab: Lab, body: impl Future<Output = io::Result<()>> + 'static) {
    monoio::spawn(async move { body.await.unwrap_or_else(|error| lab.failed(error)) });
}

fn ask(ping: &'static Ping, clock: &Clock) {
    let (peer, ticks) = (ping.peer(), Rc::<Ticks>::default());
    monoio::spawn(rtt::ring(Rc::clone(&ticks), clock.clone()));
    for i in 0..ping.job.outstanding {
        spawn(ping.job.lab, run_lane(ping, i, peer, Rc::clone(&ticks), clock.clone()));
    }
}

async fn run_lane(
    ping: &'static Ping,
    i: usize,
    peer: SocketAddr,
    ticks: Rc<Ticks>,
    clock: Clock,
) -> io::Result<()> {
    let (job, lane) = (&ping.job, ping.lane(i));
    match job.transport {
        Transport::Udp => rtt::drive(lane, connect_udp(job, peer, &ticks).await?, clock).await,
        Transport::Tcp => rtt::drive(lane, Tcp::connect(job, peer).await?, clock).await,
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
        let (received, mut message) = socket.recv_from(buffer).await;
        let (length, from) = received?;
        message.truncate(length);
        echo.answer(&message);
        let sent;
        (sent, buffer) = socket.send_to(message, from).await;
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
        let (result, filled) = stream.read_exact(message).await;
        result?;
        echo.answer(&filled);
        let (result, sent) = stream.write_all(filled).await;
        result?;
        message = sent;
    }
}
