//! The callbacks, which libdatachannel calls on its threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use datachannel::{
    DataChannelHandler, DataChannelInfo, GatheringState, PeerConnectionHandler, RtcDataChannel,
};
use netdyno_contender::datachannel::{HELLO, Job, Role, Sink};

use crate::Note;

/// The callbacks of a peer connection.
pub struct ConnectionEvents {
    job: Arc<Job>,
    connection: usize,
    notes: Sender<Note>,
    /// The channel that the other role opened. It is stored, because dropping it would close it.
    channel: Option<Box<RtcDataChannel<ChannelEvents>>>,
}

impl ConnectionEvents {
    /// Creates the callbacks of this connection, whose thread reads `notes`.
    pub fn new(job: Arc<Job>, connection: usize, notes: Sender<Note>) -> Self {
        Self { job, connection, notes, channel: None }
    }
}

impl PeerConnectionHandler for ConnectionEvents {
    type DCH = ChannelEvents;

    fn data_channel_handler(&mut self, _: DataChannelInfo) -> ChannelEvents {
        if self.job.role == Role::Offerer || self.channel.is_some() {
            self.job.failed(self.connection, "unexpected channel");
        }
        let sink = self.job.sink(self.connection);
        ChannelEvents {
            sink: Some(sink),
            ..ChannelEvents::new(self.job.clone(), self.connection, self.notes.clone())
        }
    }

    fn on_data_channel(&mut self, mut channel: Box<RtcDataChannel<ChannelEvents>>) {
        if let Err(error) = channel.send(HELLO) {
            self.job.failed(self.connection, format!("the hello: {error}"));
        }
        self.job.opened(self.connection);
        self.channel = Some(channel);
    }

    fn on_gathering_state_change(&mut self, state: GatheringState) {
        if state == GatheringState::Complete {
            drop(self.notes.send(Note::Gathered));
        }
    }
}

/// The callbacks of a data channel.
pub struct ChannelEvents {
    job: Arc<Job>,
    connection: usize,
    notes: Sender<Note>,
    /// Present at the answerer.
    sink: Option<Sink>,
    /// Whether a [`Note::BufferedAmountLow`] is queued: one is sufficient.
    low_is_queued: Arc<AtomicBool>,
}

impl ChannelEvents {
    /// Creates the callbacks of the offerer's channel.
    pub fn new(job: Arc<Job>, connection: usize, notes: Sender<Note>) -> Self {
        Self { job, connection, notes, sink: None, low_is_queued: Arc::default() }
    }

    /// The thread that receives the note clears this.
    pub fn low_is_queued(&self) -> Arc<AtomicBool> {
        self.low_is_queued.clone()
    }
}

impl DataChannelHandler for ChannelEvents {
    fn on_open(&mut self) {
        if self.job.role == Role::Offerer {
            self.job.opened(self.connection);
        }
    }

    fn on_message(&mut self, message: &[u8]) {
        match &mut self.sink {
            Some(sink) => sink.on_message(message),
            None => self.job.hello(self.connection, message),
        }
    }

    fn on_closed(&mut self) {
        // The lab stops the offerer first, so the answerer ignores this.
        if self.job.role == Role::Offerer {
            self.job.failed(self.connection, "the channel was closed");
        }
    }

    fn on_error(&mut self, error: &str) {
        self.job.failed(self.connection, error);
    }

    fn on_buffered_amount_low(&mut self) {
        if !self.low_is_queued.swap(true, Ordering::AcqRel) {
            drop(self.notes.send(Note::BufferedAmountLow));
        }
    }
}
