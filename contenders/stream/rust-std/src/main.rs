//! The `stream` workload on the standard library: blocking sockets with one thread for each connection.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Instant;

use netdyno_contender_stream::{
    self as stream, Job, PAUSE, PREFIX_BYTES, Receiver, Role, Sender, Sink, Source, Transport, spawn_thread,
    until_hang_up,
};

fn main() {
    let role = stream::connect();
    let job = role.job();
    job.lab.ready("rust-std", env!("RUSTC_VERSION"), "threads");
    let started = match role {
        Role::Sender(sender) => send(sender),
        Role::Receiver(receiver) => receive(receiver),
    };
    started.unwrap_or_else(|error| job.lab.failed(error));
    stream::wait_for_stop();
}

fn send(sender: &'static Sender) -> io::Result<()> {
    let job = &sender.job;
    let mut setup_ns = Vec::new();
    for (i, peer) in sender.peers().into_iter().enumerate() {
        let (begun, source) = (Instant::now(), Source::new(sender, i));
        match job.transport {
            Transport::Tcp => {
                let socket = TcpStream::connect(peer)?;
                spawn_thread(job, move || send_stream(job, socket, source));
            }
            Transport::Udp => {
                let socket = UdpSocket::bind(job.local())?;
                socket.connect(peer)?;
                spawn_thread(job, move || send_datagrams(&socket, source));
            }
        }
        setup_ns.push(begun.elapsed().as_nanos() as u64);
    }
    job.lab.connected(&setup_ns);
    Ok(())
}

fn send_stream(job: &Job, socket: TcpStream, mut source: Source<'_>) -> io::Result<()> {
    let mut writer = BufWriter::new(socket);
    loop {
        let Some(message) = source.next_message() else {
            thread::sleep(PAUSE);
            continue;
        };
        writer.write_all(&job.prefix())?;
        writer.write_all(message)?;
        if source.is_verify() {
            writer.flush()?;
        }
    }
}

fn send_datagrams(socket: &UdpSocket, mut source: Source<'_>) -> io::Result<()> {
    loop {
        let Some(message) = source.next_message() else {
            thread::sleep(PAUSE);
            continue;
        };
        match socket.send(message) {
            Ok(_) => {}
            // Lost, which UDP allows, or the receiver has ended.
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => {}
            Err(error) => return Err(error),
        }
    }
}

fn receive(receiver: &'static Receiver) -> io::Result<()> {
    let job = &receiver.job;
    let mut ports = Vec::new();
    for i in 0..job.connections {
        let sink = Sink::new(receiver, i);
        match job.transport {
            Transport::Tcp => {
                let listener = TcpListener::bind(job.local())?;
                ports.push(listener.local_addr()?.port());
                spawn_thread(job, move || until_hang_up(receive_stream(job, listener.accept()?.0, sink)));
            }
            Transport::Udp => {
                let socket = UdpSocket::bind(job.local())?;
                ports.push(socket.local_addr()?.port());
                spawn_thread(job, move || receive_datagrams(job, &socket, sink));
            }
        }
    }
    receiver.bound(&ports);
    Ok(())
}

fn receive_stream(job: &Job, socket: TcpStream, mut sink: Sink<'_>) -> io::Result<()> {
    let mut reader = BufReader::new(socket);
    let (mut prefix, mut message) = ([0; PREFIX_BYTES], vec![0; job.message_bytes]);
    loop {
        reader.read_exact(&mut prefix)?;
        job.check_prefix(u32::from_be_bytes(prefix));
        reader.read_exact(&mut message)?;
        sink.on_message(&message);
    }
}

fn receive_datagrams(job: &Job, socket: &UdpSocket, mut sink: Sink<'_>) -> io::Result<()> {
    // One more byte, so that a longer datagram is detected.
    let mut buffer = vec![0; job.message_bytes + 1];
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) => sink.on_message(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
