//! The connections of a role.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::sync::Arc;

use netdyno_contender::Phase;
use netdyno_contender::datachannel::{HELLO, Job, LABEL, Order, Role, Sink, Source};
use netdyno_rtc::{
    ChannelId, ChannelOptions, Connection, ConnectionId, Endpoint, Event, Handler, Kind, Message, PeerState,
    Port, SendError,
};

/// Maximum total that all channels send between two polls of the endpoint, so that a thousand channels with space do not delay
/// it.
const TURN_BYTES: usize = 1 << 20;
/// Maximum that one channel sends before the next channel.
const SLICE_BYTES: usize = 1 << 17;

/// All connections of this role.
pub(crate) struct Connections {
    job: Arc<Job>,
    /// Indexed by the lab's connection number.
    ends: Vec<End>,
    numbers: HashMap<ConnectionId, usize>,
    phase: Option<Phase>,
    /// Connections whose channels have space, each once.
    writable: VecDeque<usize>,
}

/// One end of a connection.
struct End {
    id: Option<ConnectionId>,
    channel: Option<ChannelId>,
    source: Option<Source>,
    sink: Option<Sink>,
    is_writable: bool,
}

impl Connections {
    /// The offerer creates and offers all of its connections at once.
    pub(crate) fn begin(job: &Arc<Job>, endpoint: &mut Endpoint) -> Result<Self, Box<dyn Error>> {
        let none = || End { id: None, channel: None, source: None, sink: None, is_writable: false };
        let ends = (0..job.pairs).map(|_| none()).collect();
        let mut connections = Self {
            job: Arc::clone(job),
            ends,
            numbers: HashMap::new(),
            phase: None,
            writable: VecDeque::new(),
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
        // The other role has one port for all connections, so this role needs one port for each.
        let id = endpoint.add(Port::Own)?;
        let mut connection = endpoint.connection(id).ok_or("the new connection does not exist")?;
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

    /// Handles an order of the lab.
    pub(crate) fn on_order(&mut self, endpoint: &mut Endpoint, order: Order) {
        match order {
            Order::Remote(number, sdp) => {
                let outcome = match (self.job.role, self.ends[number].id) {
                    (Role::Answerer, _) => self.answer(endpoint, number, &sdp),
                    (Role::Offerer, id) => match id.and_then(|id| endpoint.connection(id)) {
                        Some(mut connection) => connection.accept_answer(&sdp).map_err(Into::into),
                        None => Err("the connection has ended".into()),
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
        if !std::mem::replace(&mut self.ends[number].is_writable, true) {
            self.writable.push_back(number);
        }
    }

    /// Sends on the channels with space, up to [`TURN_BYTES`]. Returns whether some still have space.
    pub(crate) fn feed(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut left = TURN_BYTES;
        while left > 0
            && let Some(number) = self.writable.pop_front()
        {
            self.ends[number].is_writable = false;
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
        !self.writable.is_empty()
    }

    /// Sends until the channel's buffered amount reaches `high_water_bytes`, or `slice` bytes. Returns the number of sent bytes.
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
                // Unacknowledged data fills the library's buffer; an event reports when it has space.
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
            // The lab stops the offerer first, so only the offerer treats this as an error.
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
