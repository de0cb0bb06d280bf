//! One connection: its `Rtc`, its socket, and the run loop that connects them.

use std::error::Error;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use netdyno_contender::Phase;
use netdyno_contender::datachannel::{HELLO, Job, LABEL, Role, Sink, Source};
use str0m::change::{SdpAnswer, SdpOffer, SdpPendingOffer};
use str0m::channel::{ChannelConfig, ChannelId};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc, RtcConfig};

use crate::Note;

/// Maximum wait for the socket, which bounds the delay of notes from the lab. It does not delay traffic.
const MAX_WAIT: Duration = Duration::from_millis(10);
/// Length of the receive buffer, as in str0m's examples.
const DATAGRAM_BYTES: usize = 2000;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The traffic of a role's channel.
enum Traffic {
    Send(Source),
    Receive(Sink),
}

/// One end of a connection.
pub struct Peer {
    job: Arc<Job>,
    connection: usize,
    inbox: Receiver<Note>,
    rtc: Rtc,
    socket: UdpSocket,
    local: SocketAddr,
    /// An unanswered offer.
    pending: Option<SdpPendingOffer>,
    channel: Option<ChannelId>,
    traffic: Traffic,
    phase: Option<Phase>,
    /// Buffered amount at which to pause, and whether the sender is paused.
    high_water_bytes: usize,
    paused: bool,
}

impl Peer {
    /// Makes an offer, or waits for one and answers it.
    pub fn connect(job: Arc<Job>, connection: usize, inbox: Receiver<Note>) -> Result<Self> {
        let offer = match job.role {
            Role::Offerer => None,
            Role::Answerer => match inbox.recv()? {
                Note::Remote(sdp) => Some(sdp),
                _ => return Err("a phase started before the offer".into()),
            },
        };
        job.created(connection);
        // The default send buffer of 128 KiB cannot hold a longer message. With twice the message length, a buffer
        // that is too full for another message is above the level at which the sender resumes.
        let config = RtcConfig::new();
        let buffer_bytes = config.sctp_max_buffered_amount().max(2 * job.message_bytes);
        let rtc = config.set_sctp_max_buffered_amount(buffer_bytes).build(Instant::now());
        let socket = UdpSocket::bind(SocketAddr::new(job.local, 0))?;
        let traffic = match job.role {
            Role::Offerer => Traffic::Send(job.source(connection)),
            Role::Answerer => Traffic::Receive(job.sink(connection)),
        };
        let mut peer = Self {
            connection,
            inbox,
            rtc,
            local: socket.local_addr()?,
            socket,
            pending: None,
            channel: None,
            traffic,
            phase: None,
            high_water_bytes: job.high_water_bytes.min(buffer_bytes),
            paused: false,
            job,
        };
        peer.rtc.add_local_candidate(Candidate::host(peer.local, "udp")?);
        match offer {
            None => peer.offer()?,
            Some(sdp) => peer.answer(&sdp)?,
        }
        Ok(peer)
    }

    fn offer(&mut self) -> Result<()> {
        let mut change = self.rtc.sdp_api();
        change.add_channel_with_config(ChannelConfig {
            label: LABEL.to_owned(),
            ordered: self.job.ordered,
            ..Default::default()
        });
        let (offer, pending) = change.apply().ok_or("str0m generates no offer")?;
        self.pending = Some(pending);
        self.job.describe(self.connection, offer.to_sdp_string());
        // The run loop starts after the answer.
        let first = self.inbox.recv()?;
        self.take_note(first)
    }

    fn answer(&mut self, offer: &str) -> Result<()> {
        let answer = self.rtc.sdp_api().accept_offer(SdpOffer::from_sdp_string(offer)?)?;
        self.job.describe(self.connection, answer.to_sdp_string());
        Ok(())
    }

    /// The run loop: polls all output after each input. Ends when the peer has disconnected.
    pub fn run(mut self) -> Result<()> {
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            let Some(deadline) = self.drain()? else {
                return match self.job.role {
                    Role::Offerer => Err("the answerer disconnected".into()),
                    Role::Answerer => Ok(()),
                };
            };
            if let Ok(note) = self.inbox.try_recv() {
                self.take_note(note)?;
            } else if !self.write()? {
                self.wait(deadline, &mut buffer)?;
            }
        }
    }

    /// Handles all output of the engine. Returns its next deadline, or `None` when it is disconnected.
    fn drain(&mut self) -> Result<Option<Instant>> {
        loop {
            match self.rtc.poll_output()? {
                Output::Timeout(deadline) => return Ok(self.rtc.is_alive().then_some(deadline)),
                Output::Transmit(transmit) => {
                    self.socket.send_to(&transmit.contents, transmit.destination)?;
                }
                Output::Event(Event::IceConnectionStateChange(IceConnectionState::Disconnected))
                | Output::Event(Event::ChannelClose(_)) => return Ok(None),
                Output::Event(event) => self.on_event(event)?,
            }
        }
    }

    fn on_event(&mut self, event: Event) -> Result<()> {
        match (event, &mut self.traffic) {
            (Event::ChannelOpen(id, _), traffic) => {
                self.channel = Some(id);
                let mut channel = self.rtc.channel(id).ok_or("the opened channel does not exist")?;
                channel.set_buffered_amount_low_threshold(self.high_water_bytes / 2);
                if matches!(traffic, Traffic::Receive(_)) && !channel.write(true, HELLO)? {
                    return Err("str0m did not accept the hello".into());
                }
                self.job.opened(self.connection);
            }
            (Event::ChannelData(message), Traffic::Receive(sink)) => sink.on_message(&message.data),
            (Event::ChannelData(message), Traffic::Send(_)) => self.job.hello(self.connection, &message.data),
            (Event::ChannelBufferedAmountLow(_), _) => self.paused = false,
            _ => {}
        }
        Ok(())
    }

    fn take_note(&mut self, note: Note) -> Result<()> {
        match note {
            Note::Start(phase) => self.phase = Some(phase),
            Note::Remote(sdp) => {
                let pending = self.pending.take().ok_or("duplicate description")?;
                self.rtc.sdp_api().accept_answer(pending, SdpAnswer::from_sdp_string(&sdp)?)?;
            }
            Note::Candidate(remote) => {
                self.rtc.add_remote_candidate(Candidate::from_sdp_string(&remote.candidate)?);
            }
        }
        Ok(())
    }

    /// Writes one message if the phase and the buffer allow it. Returns whether it did.
    fn write(&mut self) -> Result<bool> {
        let (Traffic::Send(source), Some(phase)) = (&mut self.traffic, self.phase) else {
            return Ok(false);
        };
        if self.paused || (phase == Phase::Verify && !source.verifying()) {
            return Ok(false);
        }
        let Some(mut channel) = self.channel.and_then(|id| self.rtc.channel(id)) else {
            return Ok(false);
        };
        let room = channel.buffered_amount() < self.high_water_bytes;
        let written = room && channel.write(true, source.next_message())?;
        if written {
            source.sent();
        }
        self.paused = !written;
        Ok(written)
    }

    /// Waits for a datagram or the deadline, whichever is first, and passes it to the engine.
    fn wait(&mut self, deadline: Instant, buffer: &mut [u8]) -> Result<()> {
        let timeout = deadline.saturating_duration_since(Instant::now()).min(MAX_WAIT);
        if timeout.is_zero() {
            return Ok(self.rtc.handle_input(Input::Timeout(Instant::now()))?);
        }
        self.socket.set_read_timeout(Some(timeout))?;
        let input = match self.socket.recv_from(buffer) {
            Ok((length, source)) => {
                match Receive::new(Protocol::Udp, source, self.local, &buffer[..length]) {
                    Ok(datagram) => Input::Receive(Instant::now(), datagram),
                    // Unrelated datagrams are ignored.
                    Err(_) => return Ok(()),
                }
            }
            // Interrupted: a freeze interrupts waits with a timeout.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                Input::Timeout(Instant::now())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(self.rtc.handle_input(input)?)
    }
}
