//! The sending role: fills every connection's credit, batch by batch.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mio::{Registry, Token};
use netdyno_contender::Phase;
use netdyno_contender::datachannel::{Job, Order};

use crate::Role;
use crate::greeting::Greeting;
use crate::link::{Inbox, Link};
use crate::packer::{Packer, stride};
use crate::wire::{Cipher, NUMBER_BYTES, Side, TAG_BYTES, kind};

struct Connection {
    link: Link,
    packer: Packer,
    /// The answerer's address and its credit, after its greeting has arrived.
    peer: Option<(SocketAddr, u64)>,
    /// Datagrams sent, and datagrams that the answerer has received.
    sent: u64,
    taken: u64,
}

/// All connections of the offerer.
pub struct Offerer {
    job: Arc<Job>,
    cipher: Cipher,
    peer: IpAddr,
    connections: Vec<Connection>,
    inbox: Inbox,
    arena: Vec<u8>,
    stride: usize,
    phase: Option<Phase>,
}

impl Offerer {
    /// Opens a socket per connection and sends the offers.
    pub fn new(job: Arc<Job>, cipher: Cipher, peer: IpAddr, registry: &Registry) -> Result<Self, String> {
        let mut connections = Vec::with_capacity(job.pairs);
        for index in 0..job.pairs {
            job.created(index);
            let link = Link::bind(job.local, registry, Token(index)).map_err(|error| error.to_string())?;
            let greeting = Greeting::of(&link).map_err(|error| error.to_string())?;
            job.describe(index, greeting.to_string());
            let packer = Packer::new(job.source(index));
            connections.push(Connection { link, packer, peer: None, sent: 0, taken: 0 });
        }
        let stride = stride(job.message_bytes);
        let batch = connections.iter().map(|connection| connection.link.batch(stride)).max().unwrap_or(1);
        let (inbox, arena) = (Inbox::new(), vec![0; batch * stride]);
        Ok(Self { job, cipher, peer, connections, inbox, arena, stride, phase: None })
    }

    /// Sends one batch if the credit allows it. Returns whether it did.
    fn send_batch(&mut self, index: usize) -> Result<bool, String> {
        let connection = &mut self.connections[index];
        let (Some((peer, credit)), Some(phase)) = (connection.peer, self.phase) else {
            return Ok(false);
        };
        let room = credit - (connection.sent - connection.taken).min(credit);
        let batch = (connection.link.batch(self.stride) as u64).min(credit);
        if room < batch {
            return Ok(false);
        }
        let go_on = |packer: &Packer| phase > Phase::Verify || packer.verifying();
        let mut filled = 0;
        for datagram in self.arena.chunks_exact_mut(self.stride).take(batch as usize) {
            if !connection.packer.pack(&mut datagram[NUMBER_BYTES..self.stride - TAG_BYTES], go_on) {
                break;
            }
            self.cipher.seal(datagram, index as u32, Side::Offerer, connection.sent)?;
            connection.sent += 1;
            filled += self.stride;
        }
        if filled > 0 {
            let sent = connection.link.send(peer, &self.arena[..filled], self.stride);
            sent.map_err(|error| error.to_string())?;
        }
        Ok(filled > 0)
    }
}

impl Role for Offerer {
    fn on_order(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Remote(index, answer) => {
                let greeting: Greeting = answer.parse()?;
                let peer = SocketAddr::new(self.peer, greeting.port);
                let bytes = greeting.credit.saturating_mul(self.stride as u64);
                let credit = bytes.min(self.job.high_water_bytes as u64) / self.stride as u64;
                self.connections[index].peer = Some((peer, credit.max(1)));
                self.job.opened(index);
            }
            Order::Candidate(..) => {
                return Err("unexpected candidate: the other role is not the ceiling".to_owned());
            }
            Order::Start(phase) => self.phase = Some(phase),
        }
        Ok(())
    }

    fn on_readable(&mut self, index: usize) -> Result<(), String> {
        let connection = &mut self.connections[index];
        loop {
            let more = self.inbox.receive(&connection.link).map_err(|error| error.to_string())?;
            for datagram in self.inbox.datagrams() {
                let (_, frames) = self.cipher.open(datagram, index as u32, Side::Answerer)?;
                for frame in frames {
                    match frame? {
                        (kind::LAST, message) => self.job.hello(index, message),
                        (kind::CREDIT, taken) => {
                            let taken = taken.try_into().map_err(|_| "invalid credit")?;
                            connection.taken =
                                u64::from_be_bytes(taken).clamp(connection.taken, connection.sent);
                        }
                        _ => return Err("unexpected frame".to_owned()),
                    }
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn work(&mut self) -> Result<bool, String> {
        let mut busy = false;
        for index in 0..self.connections.len() {
            busy |= self.send_batch(index)?;
        }
        Ok(busy)
    }
}
