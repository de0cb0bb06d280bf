//! TCP: batches of contiguous messages, each after its length.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use netdyno_contender::now_ns;
use netdyno_contender_stream::{
    Job, PAUSE, PREFIX_BYTES, Receiver, Sender, Sink, Source, spawn_thread, until_hang_up,
};

/// Approximate length of a batch: fits in the second-level cache, and large enough that the cost of a call is negligible.
const BATCH_BYTES: usize = 1 << 18;

/// A whole number of messages with their lengths.
fn batch(job: &Job) -> Vec<u8> {
    let frame_bytes = PREFIX_BYTES + job.message_bytes;
    let mut batch = vec![0; frame_bytes * (BATCH_BYTES / frame_bytes).max(1)];
    batch
        .chunks_exact_mut(frame_bytes)
        .for_each(|frame| frame[..PREFIX_BYTES].copy_from_slice(&job.prefix()));
    batch
}

pub fn send(sender: &'static Sender) -> io::Result<()> {
    let mut setup_ns = Vec::new();
    for (i, peer) in sender.peers().into_iter().enumerate() {
        let begun_ns = now_ns();
        let socket = TcpStream::connect(peer)?;
        setup_ns.push(now_ns() - begun_ns);
        let source = Source::new(sender, i);
        spawn_thread(&sender.job, move || send_on(&sender.job, socket, source));
    }
    sender.job.lab.connected(&setup_ns);
    Ok(())
}

fn send_on(job: &Job, mut socket: TcpStream, mut source: Source<'_>) -> io::Result<()> {
    let frame_bytes = PREFIX_BYTES + job.message_bytes;
    let mut buffer = batch(job);
    let most = (buffer.len() / frame_bytes) as u64;
    loop {
        let Some(batch) = source.claim(most) else {
            thread::sleep(PAUSE);
            continue;
        };
        let frames = &mut buffer[..batch.count as usize * frame_bytes];
        for (sequence, frame) in (batch.first..).zip(frames.chunks_exact_mut(frame_bytes)) {
            source.write(&mut frame[PREFIX_BYTES..], sequence);
        }
        socket.write_all(frames)?;
    }
}

pub fn receive(receiver: &'static Receiver) -> io::Result<()> {
    let mut ports = Vec::new();
    for i in 0..receiver.job.connections {
        let listener = TcpListener::bind(receiver.job.local())?;
        ports.push(listener.local_addr()?.port());
        let sink = Sink::new(receiver, i);
        spawn_thread(&receiver.job, move || {
            let (socket, _) = listener.accept()?;
            until_hang_up(receive_on(&receiver.job, socket, sink))
        });
    }
    receiver.bound(&ports);
    Ok(())
}

/// The buffer holds a whole number of messages, so that none of them is ever moved.
fn receive_on(job: &Job, mut socket: TcpStream, mut sink: Sink<'_>) -> io::Result<()> {
    let frame_bytes = PREFIX_BYTES + job.message_bytes;
    let mut buffer = batch(job);
    let (mut filled, mut checked) = (0, 0);
    loop {
        match socket.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(()),
            Ok(more) => filled += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        let whole = &buffer[checked..filled];
        for frame in whole.chunks_exact(frame_bytes) {
            if frame[..PREFIX_BYTES] != job.prefix() {
                return Err(io::Error::new(ErrorKind::InvalidData, "wrong length before a message"));
            }
            sink.check(&frame[PREFIX_BYTES..]);
        }
        checked += whole.len() / frame_bytes * frame_bytes;
        sink.publish();
        if filled == buffer.len() {
            (filled, checked) = (0, 0);
        }
    }
}
