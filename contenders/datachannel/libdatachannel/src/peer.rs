//! One connection and the thread that owns it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use datachannel::sdp::parse_sdp;
use datachannel::{
    DataChannelInit, IceCandidate, Reliability, RtcConfig, RtcDataChannel, RtcPeerConnection, SdpType,
    SessionDescription,
};
use netdyno_contender::Phase;
use netdyno_contender::datachannel::{Job, LABEL, Role, Source};

use crate::Note;
use crate::handlers::{ChannelEvents, ConnectionEvents};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The offerer's end of a channel.
struct Outlet {
    channel: Box<RtcDataChannel<ChannelEvents>>,
    low_is_queued: Arc<AtomicBool>,
    source: Source,
}

/// One end of a connection.
pub struct Peer {
    job: Arc<Job>,
    connection: usize,
    // Declared before `rtc`, so that the channel is dropped before its connection.
    outlet: Option<Outlet>,
    rtc: Box<RtcPeerConnection<ConnectionEvents>>,
    phase: Option<Phase>,
}

impl Peer {
    /// Makes an offer, or waits for one. The library generates the descriptions.
    pub fn connect(
        job: Arc<Job>,
        connection: usize,
        notes: Sender<Note>,
        inbox: &Receiver<Note>,
    ) -> Result<Self> {
        let offer = match job.role {
            Role::Offerer => None,
            Role::Answerer => match inbox.recv()? {
                Note::Remote(sdp) => Some(sdp),
                _ => return Err("a phase started before the offer".into()),
            },
        };
        job.created(connection);
        let config = RtcConfig::new::<&str>(&[]).bind_address(&job.local.to_string());
        let events = ConnectionEvents::new(job.clone(), connection, notes.clone());
        let rtc = RtcPeerConnection::new(&config, events)?;
        let mut peer = Self { job, connection, outlet: None, rtc, phase: None };
        match offer {
            None => peer.open_channel(notes)?,
            Some(sdp) => peer.set_remote(&sdp)?,
        }
        Ok(peer)
    }

    fn open_channel(&mut self, notes: Sender<Note>) -> Result<()> {
        let events = ChannelEvents::new(self.job.clone(), self.connection, notes);
        let low_is_queued = events.low_is_queued();
        let reliability = Reliability { unordered: !self.job.ordered, ..Default::default() };
        let init = DataChannelInit::default().reliability(reliability);
        let mut channel = self.rtc.create_data_channel_ex(LABEL, events, &init)?;
        channel.set_buffered_amount_low_threshold(self.job.low_water_bytes())?;
        self.outlet = Some(Outlet { channel, low_is_queued, source: self.job.source(self.connection) });
        Ok(())
    }

    fn set_remote(&mut self, sdp: &str) -> Result<()> {
        let sdp_type = if self.job.role == Role::Offerer { SdpType::Answer } else { SdpType::Offer };
        Ok(self.rtc.set_remote_description(&SessionDescription { sdp: parse_sdp(sdp, false)?, sdp_type })?)
    }

    /// Handles notes and sends messages. Returns only with an error.
    pub fn run(mut self, inbox: &Receiver<Note>) -> Result<()> {
        loop {
            match inbox.recv()? {
                Note::Remote(sdp) => self.set_remote(&sdp)?,
                Note::Candidate(remote) => self.rtc.add_remote_candidate(&IceCandidate {
                    candidate: remote.candidate,
                    mid: remote.sdp_mid.unwrap_or_default(),
                })?,
                Note::Gathered => {
                    let local = self.rtc.local_description().ok_or("no local description")?;
                    self.job.describe(self.connection, local.sdp.to_string());
                }
                Note::Start(phase) => self.phase = Some(phase),
                Note::BufferedAmountLow => {}
            }
            self.send()?;
        }
    }

    /// Sends until the buffer is full. A note reports when it is half empty.
    fn send(&mut self) -> Result<()> {
        let (Some(outlet), Some(phase)) = (&mut self.outlet, self.phase) else {
            return Ok(());
        };
        outlet.low_is_queued.store(false, Ordering::Release);
        while outlet.channel.buffered_amount() < self.job.high_water_bytes {
            if phase == Phase::Verify && !outlet.source.verifying() {
                break;
            }
            outlet.channel.send(outlet.source.next_message())?;
            outlet.source.sent();
        }
        Ok(())
    }
}
