//! UDP: batches of datagrams that the kernel segments and coalesces.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::thread;

use netdyno_contender::now_ns;
use netdyno_contender_stream::{Job, PAUSE, Receiver, Sender, Sink, Source, spawn_thread};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};

/// Maximum payload of UDP over IPv4, and thus of a batch.
const BATCH_BYTES_MAX: usize = 65_507;
/// Length of the receive buffer: a coalesced batch, or a datagram that is longer than a message.
const BUFFER_BYTES: usize = 1 << 16;

/// A blocking socket. The state enables GSO and GRO; its constructor makes the socket non-blocking.
struct Link {
    socket: UdpSocket,
    udp: UdpSocketState,
}

impl Link {
    fn bind(job: &Job) -> io::Result<Self> {
        let socket = UdpSocket::bind(job.local())?;
        let udp = UdpSocketState::new(UdpSockRef::from(&socket))?;
        socket.set_nonblocking(false)?;
        Ok(Self { socket, udp })
    }
}

pub fn send(sender: &'static Sender) -> io::Result<()> {
    let mut setup_ns = Vec::new();
    for (i, peer) in sender.peers().into_iter().enumerate() {
        let begun_ns = now_ns();
        let link = Link::bind(&sender.job)?;
        setup_ns.push(now_ns() - begun_ns);
        let source = Source::new(sender, i);
        spawn_thread(&sender.job, move || send_on(&sender.job, &link, peer, source));
    }
    sender.job.lab.connected(&setup_ns);
    Ok(())
}

fn send_on(job: &Job, link: &Link, peer: SocketAddr, mut source: Source<'_>) -> io::Result<()> {
    let length = job.message_bytes;
    let most = link.udp.max_gso_segments().min(BATCH_BYTES_MAX / length).max(1);
    let mut buffer = vec![0; most * length];
    loop {
        let Some(batch) = source.claim(most as u64) else {
            thread::sleep(PAUSE);
            continue;
        };
        let messages = &mut buffer[..batch.count as usize * length];
        for (sequence, message) in (batch.first..).zip(messages.chunks_exact_mut(length)) {
            source.write(message, sequence);
        }
        let transmit = Transmit {
            destination: peer,
            ecn: None,
            contents: messages,
            segment_size: (batch.count > 1).then_some(length),
            src_ip: None,
        };
        while let Err(error) = link.udp.try_send(UdpSockRef::from(&link.socket), &transmit) {
            match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                // The receiver has ended.
                ErrorKind::ConnectionRefused => break,
                _ => return Err(error),
            }
        }
    }
}

pub fn receive(receiver: &'static Receiver) -> io::Result<()> {
    let mut ports = Vec::new();
    for i in 0..receiver.job.connections {
        let link = Link::bind(&receiver.job)?;
        ports.push(link.socket.local_addr()?.port());
        let sink = Sink::new(receiver, i);
        spawn_thread(&receiver.job, move || receive_on(&link, sink));
    }
    receiver.bound(&ports);
    Ok(())
}

fn receive_on(link: &Link, mut sink: Sink<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    // One slot per call: on a blocking socket, recvmmsg waits until all slots are filled.
    let mut meta = [RecvMeta::default()];
    loop {
        let mut slices = [IoSliceMut::new(&mut buffer)];
        match link.udp.recv(UdpSockRef::from(&link.socket), &mut slices, &mut meta) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Err(error) => return Err(error),
        }
        let [RecvMeta { len, stride, .. }] = meta;
        buffer[..len].chunks(stride.max(1)).for_each(|message| sink.check(message));
        sink.publish();
    }
}
