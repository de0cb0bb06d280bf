//! The `stream` workload on Tokio: one task for each connection, on the multi-threaded runtime with its default settings.

use std::io::{self, ErrorKind};
use std::time::Instant;

use netdyno_contender::lock_version;
use netdyno_contender_stream::{
    self as stream, Job, PAUSE, Receiver, Role, Sender, Sink, Source, Transport, until_hang_up,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Builder;
use tokio::time::sleep;

fn main() {
    let role = stream::connect();
    let job = role.job();
    job.lab.ready("tokio", lock_version(include_str!("../Cargo.lock"), "tokio"), "tokio");
    let runtime = Builder::new_multi_thread().enable_all().build();
    let started = runtime.and_then(|runtime| {
        runtime.block_on(async {
            match role {
                Role::Sender(sender) => send(sender).await,
                Role::Receiver(receiver) => receive(receiver).await,
            }?;
            std::future::pending().await
        })
    });
    started.unwrap_or_else(|error| job.lab.failed(error));
}

/// Runs `body` as a task. An error ends the process.
fn spawn(job: &'static Job, body: impl Future<Output = io::Result<()>> + Send + 'static) {
    tokio::spawn(async move { body.await.unwrap_or_else(|error| job.lab.failed(error)) });
}

async fn send(sender: &'static Sender) -> io::Result<()> {
    let job = &sender.job;
    let mut setup_ns = Vec::new();
    for (i, peer) in sender.peers().into_iter().enumerate() {
        let (begun, source) = (Instant::now(), Source::new(sender, i));
        match job.transport {
            Transport::Tcp => spawn(job, send_stream(job, TcpStream::connect(peer).await?, source)),
            Transport::Udp => {
                let socket = UdpSocket::bind(job.local()).await?;
                socket.connect(peer).await?;
                spawn(job, send_datagrams(socket, source));
            }
        }
        setup_ns.push(begun.elapsed().as_nanos() as u64);
    }
    job.lab.connected(&setup_ns);
    Ok(())
}

async fn send_stream(job: &Job, socket: TcpStream, mut source: Source<'_>) -> io::Result<()> {
    let mut writer = BufWriter::new(socket);
    loop {
        let Some(message) = source.next_message() else {
            sleep(PAUSE).await;
            continue;
        };
        writer.write_all(&job.prefix()).await?;
        writer.write_all(message).await?;
        if source.is_verify() {
            writer.flush().await?;
        }
    }
}

async fn send_datagrams(socket: UdpSocket, mut source: Source<'_>) -> io::Result<()> {
    loop {
        let Some(message) = source.next_message() else {
            sleep(PAUSE).await;
            continue;
        };
        match socket.send(message).await {
            // The receiver has ended.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            other => drop(other?),
        }
    }
}

async fn receive(receiver: &'static Receiver) -> io::Result<()> {
    let job = &receiver.job;
    let mut ports = Vec::new();
    for i in 0..job.connections {
        let sink = Sink::new(receiver, i);
        match job.transport {
            Transport::Tcp => {
                let listener = TcpListener::bind(job.local()).await?;
                ports.push(listener.local_addr()?.port());
                spawn(job, async move {
                    let (socket, _) = listener.accept().await?;
                    until_hang_up(receive_stream(job, socket, sink).await)
                });
            }
            Transport::Udp => {
                let socket = UdpSocket::bind(job.local()).await?;
                ports.push(socket.local_addr()?.port());
                spawn(job, receive_datagrams(job, socket, sink));
            }
        }
    }
    receiver.bound(&ports);
    Ok(())
}

async fn receive_stream(job: &Job, socket: TcpStream, mut sink: Sink<'_>) -> io::Result<()> {
    let mut reader = BufReader::new(socket);
    let mut message = vec![0; job.message_bytes];
    loop {
        job.check_prefix(reader.read_u32().await?);
        reader.read_exact(&mut message).await?;
        sink.on_message(&message);
    }
}

async fn receive_datagrams(job: &Job, socket: UdpSocket, mut sink: Sink<'_>) -> io::Result<()> {
    // One more byte, so that a longer datagram is detected.
    let mut buffer = vec![0; job.message_bytes + 1];
    loop {
        let length = socket.recv(&mut buffer).await?;
        sink.on_message(&buffer[..length]);
    }
}
