//! What either role does with its connections.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::sync::Arc;

use netdyno_contender::Phase;
use netdyno_contender::datachannel::{HELLO, Job, LABEL, Order, Role, Sink, Source};
use netdyno_rtc::{
    ChannelId, ChannelOptions, Connection, ConnectionId, Endpoint, Event, Handler, Kind, Message, PeerState,
    Port, SendError,
};

/// What all channels together are given between two turns of the endpoint: a thousand channels that all have room at once must
/// not keep it from sending.
const TURN_BYTES: usize = 1 << 20;
/// What one channel is given before it is another one's turn.
const SLICE_BYTES: usize = 1 << 17;

/// All connections of this role.
pub(crate) struct Connections {
    job: Arc<Job>,
    /// By the lab's number.
    ends: Vec<End>,
    numbers: HashMap<ConnectionId, usize>,
    phase: Option<Phase>,
    /// Whose channels have room, each once.
    hungry: VecDeque<usize>,
}

/// One end of a connection.
struct End {
    id: Option<ConnectionId>,
    channel: Option<ChannelId>,
    source: Option<Source>,
    sink: Option<Sink>,
    is_hungry: bool,
}

impl Connections {
    /// The offerer creates and offers all of its connections at once.
    pub(crate) fn begin(job: &Arc<Job>, endpoint: &mut Endpoint) -> Result<Self, Box<dyn Error>> {
        let none = || End { id: None, channel: None, source: None, sink: None, is_hungry: false };
        let ends = (0..job.pairs).map(|_| none()).collect();
        let mut connections = Self {
            job: Arc::clone(job),
            ends,
            numbers: HashMap::new(),
            phase: None,
            hungry: VecDeque::new(),
        };
        if job.role == Role::Offerer {
            for number in 0..job.pairs {
                connections.offer(endpoint, number)?;
            }
        }
        Ok(connections)
    }

    fn offer(&mut self, endpoint: &mut Endpoint, number: usize) -> Result<(), Box<dyn Error>> {
        self.job.created(number);
        // The other role has one port for all of them, so this one needs a port each.
        let id = endpoint.add(Port::Own)?;
        let mut connection = endpoint.connection(id).ok_or("a connection is gone at once")?;
        let options = ChannelOptions { ordered: self.job.ordered, ..ChannelOptions::default() };
        let channel = connection.create_channel(LABEL, options)?;
        connection.set_buffered_amount_low_threshold(channel, self.job.low_water_bytes());
        self.job.describe(number, connection.create_offer(false)?);
        let end = &mut self.ends[number];
        (end.id, end.channel, end.source) = (Some(id), Some(channel), Some(self.job.source(number)));
        self.numbers.insert(id, number);
        Ok(())
    }

    fn answer(&mut self, endpoint: &mut Endpoint, number: usize, offer: &str) -> Result<(), Box<dyn Error>> {
        self.job.created(number);
        let (id, answer) = endpoint.answer(offer)?;
        self.ends[number].id = Some(id);
        self.ends[number].sink = Some(self.job.sink(number));
        self.numbers.insert(id, number);
        self.job.describe(number, answer);
        Ok(())
    }

    /// Does what the lab wants.
    pub(crate) fn on_order(&mut self, endpoint: &mut Endpoint, order: Order) {
        match order {
            Order::Remote(number, sdp) => {
                let outcome = match (self.job.role, self.ends[number].id) {
                    (Role::Answerer, _) => self.answer(endpoint, number, &sdp),
                    (Role::Offerer, id) => match id.and_then(|id| endpoint.connection(id)) {
                        Some(mut connection) => connection.accept_answer(&sdp).map_err(Into::into),
                        None => Err("the connection is gone".into()),
                    },
                };
                outcome.unwrap_or_else(|error| self.job.failed(number, error));
            }
            Order::Candidate(number, candidate) => {
                let connection = self.ends[number].id.and_then(|id| endpoint.connection(id));
                if let Some(mut connection) = connection
                    && let Err(error) = connection.add_remote_candidate(&candidate.candidate)
                {
                    self.job.failed(number, error);
                }
            }
            Order::Start(phase) => {
                self.phase = Some(phase);
                (0..self.ends.len()).for_each(|number| self.has_room(number));
            }
        }
    }

    fn has_room(&mut self, number: usize) {
        if !std::mem::replace(&mut self.ends[number].is_hungry, true) {
            self.hungry.push_back(number);
        }
    }

    /// Gives the channels that have room messages, one after the other, as far as one turn goes. True if some have room still.
    pub(crate) fn feed(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut left = TURN_BYTES;
        while left > 0
            && let Some(number) = self.hungry.pop_front()
        {
            self.ends[number].is_hungry = false;
            let Some(mut connection) = self.ends[number].id.and_then(|id| endpoint.connection(id)) else {
                continue;
            };
            let slice = SLICE_BYTES.min(left);
            let given = self.fill(&mut connection, number, slice);
            if given >= slice {
                self.has_room(number);
            }
            left = left.saturating_sub(given);
        }
        !self.hungry.is_empty()
    }

    /// Sends until the channel has as much in its buffer as the contract says, or so many bytes more. Gives how many those were.
    fn fill(&mut self, connection: &mut Connection<'_>, number: usize, slice: usize) -> usize {
        let End { channel: Some(channel), source: Some(source), .. } = &mut self.ends[number] else {
            return 0;
        };
        let room = self.job.high_water_bytes.saturating_sub(connection.buffered_amount(*channel)).min(slice);
        let mut given = 0;
        while given < room {
            let may_send = match self.phase {
                None => false,
                Some(Phase::Verify) => source.verifying(),
                Some(_) => true,
            };
            if !may_send {
                break;
            }
            let message = source.next_message();
            match connection.send(*channel, Kind::Binary, message) {
                Ok(()) => source.sent(),
                // What is sent and not acknowledged fills the library's buffer: it says when there is room again.
                Err(SendError::WouldBlock) => break,
                Err(error) => self.job.failed(number, error),
            }
            given += self.job.message_bytes;
        }
        given
    }

    fn number(&self, connection: &Connection<'_>) -> Option<usize> {
        self.numbers.get(&connection.id()).copied()
    }
}

impl Handler for Connections {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let Some(number) = self.number(connection) else { return };
        match event {
            Event::Open(channel) => {
                self.job.opened(number);
                if self.job.role == Role::Answerer {
                    self.ends[number].channel = Some(channel);
                    if let Err(error) = connection.send(channel, Kind::Binary, HELLO) {
                        self.job.failed(number, error);
                    }
                }
            }
            Event::BufferedAmountLow(_) | Event::Writable => self.has_room(number),
            Event::Failed(error) => self.job.failed(number, error),
            // The answerer is stopped after the offerer, which is gone by then.
            Event::State(PeerState::Closed) if self.job.role == Role::Offerer => {
                self.job.failed(number, "the other role closed the connection");
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let Some(number) = self.number(connection) else { return };
        match &mut self.ends[number].sink {
            Some(sink) => sink.on_message(&message.data),
            None => self.job.hello(number, &message.data),
        }
    }
}
