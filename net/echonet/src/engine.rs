//! What drivers of the core's controller and device have in common: handle incoming messages and timers, and
//! send outgoing messages. It has no locks. A device sends no requests, and so opens no connections.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use netdyno_echonet_core::{
    Answer, AnswerError, Connect, ConnectionId, Controller, ControllerEvent, Destination, Device,
    DeviceEvent, NodeAddress, RequestId, Source, Transmit,
};
use netdyno_io::{DatagramBatch, SendBatch};

use crate::links::Links;

/// An event and its recipient.
pub(crate) enum Dispatch<T> {
    /// For the caller of a request.
    Caller(RequestId, Result<Answer, AnswerError>),
    /// For all listeners.
    All(T),
}

/// A core; methods without a body are implemented by the core.
pub(crate) trait Engine: Send + 'static {
    /// The events for listeners.
    type Event: Clone + Send;

    fn handle(&mut self, now: Instant, datagram: &[u8], from: Source, out: &mut [u8]) -> Option<Transmit>;
    fn handle_timeout(&mut self, now: Instant);
    fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit>;
    fn next_deadline(&self) -> Option<Instant>;
    /// The next event.
    fn poll_dispatch(&mut self) -> Option<Dispatch<Self::Event>>;

    /// A connection to open.
    fn poll_connect(&mut self) -> Option<Connect> {
        None
    }

    fn handle_connected(&mut self, _now: Instant, _node: NodeAddress, _connection: ConnectionId) {}

    /// The last message could not be sent.
    fn handle_unsent(&mut self, now: Instant, to: Destination, error: ErrorKind);

    /// A connection of this node was closed to admit a new one.
    fn handle_evicted(&mut self, now: Instant, node: NodeAddress);

    fn handle_disconnected(&mut self, _now: Instant, _node: NodeAddress, _connection: Option<ConnectionId>) {}

    /// A datagram of this source was dropped because of its rate.
    fn handle_limited(&mut self, _now: Instant, _node: NodeAddress) {}

    /// Handles a message and sends the immediate reply.
    fn handle_message(
        &mut self,
        now: Instant,
        datagram: &[u8],
        from: Source,
        out: &mut [u8],
        send: impl FnOnce(Destination, &[u8]) -> io::Result<()>,
    ) {
        if let Some(transmit) = self.handle(now, datagram, from, out) {
            let sent = send(transmit.to, &out[..transmit.bytes]);
            self.report_unsent(now, transmit.to, sent);
        }
    }

    /// Handles the datagrams received by the socket with this number, and sends the replies.
    fn handle_batch(
        &mut self,
        now: Instant,
        links: &Links,
        number: usize,
        batch: &DatagramBatch,
        out: &mut [u8],
        answers: &mut SendBatch,
    ) {
        for (datagram, source, is_admitted) in links.sources(now, number, batch) {
            if !is_admitted {
                self.handle_limited(now, source.address);
                continue;
            }
            self.handle_message(now, datagram, source, out, |to, answer| links.gather(answers, to, answer));
        }
        links.send_gathered(answers, |to, error| self.handle_unsent(now, to, error));
    }

    /// Sends all pending messages.
    fn flush(
        &mut self,
        now: Instant,
        out: &mut [u8],
        mut send: impl FnMut(Destination, &[u8]) -> io::Result<()>,
    ) {
        while let Some(transmit) = self.poll_transmit(now, out) {
            let sent = send(transmit.to, &out[..transmit.bytes]);
            self.report_unsent(now, transmit.to, sent);
        }
    }

    fn report_unsent(&mut self, now: Instant, to: Destination, sent: io::Result<()>) {
        if let Err(error) = sent {
            self.handle_unsent(now, to, error.kind());
        }
    }

    /// Handles expired timers; returns whether there were any.
    fn handle_timers(&mut self, now: Instant) -> bool {
        let is_due = self.next_deadline().is_some_and(|due| due <= now);
        if is_due {
            self.handle_timeout(now);
        }
        is_due
    }

    /// The time until the next deadline, or `longest`.
    fn left(&self, now: Instant, longest: Duration) -> Duration {
        self.next_deadline().map_or(longest, |due| due.saturating_duration_since(now).min(longest))
    }
}

macro_rules! engine {
    ($core:ident, $event:ident, $dispatch:expr $(, $own:item)*) => {
        impl Engine for $core {
            type Event = $event;

            fn handle(
                &mut self,
                now: Instant,
                datagram: &[u8],
                from: Source,
                out: &mut [u8],
            ) -> Option<Transmit> {
                $core::handle(self, now, datagram, from, out)
            }

            fn handle_timeout(&mut self, now: Instant) {
                $core::handle_timeout(self, now);
            }

            fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<Transmit> {
                $core::poll_transmit(self, now, out)
            }

            fn next_deadline(&self) -> Option<Instant> {
                $core::next_deadline(self)
            }

            fn poll_dispatch(&mut self) -> Option<Dispatch<$event>> {
                self.poll_event().map($dispatch)
            }

            $($own)*
        }
    };
}
engine!(
    Device,
    DeviceEvent,
    Dispatch::All,
    fn handle_unsent(&mut self, _now: Instant, to: Destination, error: ErrorKind) {
        Device::handle_unsent(self, to, error);
    },
    fn handle_evicted(&mut self, now: Instant, node: NodeAddress) {
        Device::handle_evicted(self, now, node);
    },
    fn handle_limited(&mut self, now: Instant, node: NodeAddress) {
        Device::handle_limited(self, now, node);
    }
);
engine!(
    Controller,
    ControllerEvent,
    |event| match event {
        ControllerEvent::Answer { id, result, .. } => Dispatch::Caller(id, result),
        other => Dispatch::All(other),
    },
    fn poll_connect(&mut self) -> Option<Connect> {
        Controller::poll_connect(self)
    },
    fn handle_connected(&mut self, now: Instant, node: NodeAddress, connection: ConnectionId) {
        Controller::handle_connected(self, now, node, connection);
    },
    fn handle_disconnected(&mut self, now: Instant, node: NodeAddress, connection: Option<ConnectionId>) {
        Controller::handle_disconnected(self, now, node, connection);
    },
    fn handle_unsent(&mut self, now: Instant, _to: Destination, error: ErrorKind) {
        Controller::handle_unsent(self, now, error);
    },
    fn handle_evicted(&mut self, now: Instant, node: NodeAddress) {
        self.own_mut().handle_evicted(now, node);
    }
);
