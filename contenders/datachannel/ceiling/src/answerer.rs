//! The receiving role: decrypts, reassembles, checks, and returns credit once per batch.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mio::{Registry, Token};
use netdyno_contender::datachannel::{HELLO, Job, Order, Sink};

use crate::Role;
use crate::greeting::Greeting;
use crate::link::{Inbox, Link};
use crate::wire::{Cipher, FRAME_HEADER_BYTES, NUMBER_BYTES, Side, TAG_BYTES, kind, write_frame_header};

struct Connection {
    link: Link,
    peer: SocketAddr,
    sink: Sink,
    /// The message that is being reassembled.
    partial: Vec<u8>,
    /// Datagrams received, and the number of the next one.
    taken: u64,
    /// Datagrams encrypted.
    sealed: u64,
    queued: bool,
}

/// All connections of the answerer.
pub struct Answerer {
    job: Arc<Job>,
    cipher: Cipher,
    peer: IpAddr,
    registry: Registry,
    connections: Vec<Option<Connection>>,
    inbox: Inbox,
    /// Connections whose socket may have pending datagrams, each once.
    ready: VecDeque<usize>,
}

impl Answerer {
    /// Waits for offers.
    pub fn new(job: Arc<Job>, cipher: Cipher, peer: IpAddr, registry: Registry) -> Self {
        let connections = (0..job.pairs).map(|_| None).collect();
        Self { job, cipher, peer, registry, connections, inbox: Inbox::new(), ready: VecDeque::new() }
    }

    fn accept(&mut self, index: usize, offer: Greeting) -> Result<(), String> {
        self.job.created(index);
        let link =
            Link::bind(self.job.local, &self.registry, Token(index)).map_err(|error| error.to_string())?;
        let answer = Greeting::of(&link).map_err(|error| error.to_string())?;
        let peer = SocketAddr::new(self.peer, offer.port);
        let sink = self.job.sink(index);
        let mut connection =
            Connection { link, peer, sink, partial: Vec::new(), taken: 0, sealed: 0, queued: false };
        connection.tell(&self.cipher, index, kind::LAST, HELLO)?;
        self.connections[index] = Some(connection);
        self.job.describe(index, answer.to_string());
        self.job.opened(index);
        Ok(())
    }
}

impl Connection {
    /// Decrypts and handles the datagrams of one system call.
    fn take(&mut self, job: &Job, cipher: &Cipher, index: usize, inbox: &mut Inbox) -> Result<(), String> {
        let before = self.taken;
        for datagram in inbox.datagrams() {
            let (number, frames) = cipher.open(datagram, index as u32, Side::Offerer)?;
            if number != self.taken {
                return Err(format!(
                    "received datagram {number}, expected {}; lost datagrams are not retransmitted",
                    self.taken
                ));
            }
            self.taken += 1;
            for frame in frames {
                match frame? {
                    (kind::LAST, whole) if self.partial.is_empty() => self.sink.on_message(whole),
                    (kind::LAST, end) => {
                        self.partial.extend_from_slice(end);
                        self.sink.on_message(&self.partial);
                        self.partial.clear();
                    }
                    (kind::PART, part) if self.partial.len() + part.len() <= job.message_bytes => {
                        self.partial.extend_from_slice(part);
                    }
                    _ => return Err("unexpected frame".to_owned()),
                }
            }
        }
        if self.taken > before {
            self.tell(cipher, index, kind::CREDIT, &self.taken.to_be_bytes())
        } else {
            Ok(())
        }
    }

    /// Sends one frame to the offerer.
    fn tell(&mut self, cipher: &Cipher, index: usize, kind: u8, payload: &[u8]) -> Result<(), String> {
        let mut datagram = vec![0; NUMBER_BYTES + FRAME_HEADER_BYTES + payload.len() + TAG_BYTES];
        let frame = &mut datagram[NUMBER_BYTES..];
        write_frame_header(frame, kind, payload.len());
        frame[FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + payload.len()].copy_from_slice(payload);
        cipher.seal(&mut datagram, index as u32, Side::Answerer, self.sealed)?;
        self.sealed += 1;
        self.link.send(self.peer, &datagram, datagram.len()).map_err(|error| error.to_string())
    }
}

impl Role for Answerer {
    fn on_order(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Remote(index, offer) => self.accept(index, offer.parse()?),
            Order::Candidate(..) => Err("unexpected candidate: the other role is not the ceiling".to_owned()),
            Order::Start(_) => Ok(()),
        }
    }

    fn on_readable(&mut self, index: usize) -> Result<(), String> {
        if let Some(connection) = self.connections[index].as_mut().filter(|connection| !connection.queued) {
            connection.queued = true;
            self.ready.push_back(index);
        }
        Ok(())
    }

    fn work(&mut self) -> Result<bool, String> {
        for _ in 0..self.ready.len() {
            let Some(index) = self.ready.pop_front() else { break };
            let Some(connection) = self.connections[index].as_mut() else { continue };
            let more = self.inbox.receive(&connection.link).map_err(|error| error.to_string())?;
            connection.take(&self.job, &self.cipher, index, &mut self.inbox)?;
            connection.queued = more;
            if more {
                self.ready.push_back(index);
            }
        }
        Ok(!self.ready.is_empty())
    }
}
