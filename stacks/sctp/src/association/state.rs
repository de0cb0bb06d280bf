//! The association's state machine: the eight states of RFC 9260 section 4, with a separate final state.

use super::State;

/// The state, with the data that only it needs.
#[derive(Debug)]
pub(super) enum Phase {
    /// CLOSED: waits for INIT or `connect`.
    Waiting,
    /// COOKIE-WAIT.
    CookieWait,
    /// COOKIE-ECHOED.
    CookieEchoed {
        /// The peer's cookie, kept for retransmission.
        cookie: Box<[u8]>,
    },
    /// ESTABLISHED.
    Established,
    /// SHUTDOWN-PENDING: `shutdown` was called while our data is still in flight.
    ShutdownPending,
    /// SHUTDOWN-SENT.
    ShutdownSent,
    /// SHUTDOWN-RECEIVED: the peer is shutting down while our data is still in flight.
    ShutdownReceived,
    /// SHUTDOWN-ACK-SENT.
    ShutdownAckSent,
    /// CLOSED, finally.
    Ended,
}

impl Phase {
    /// The public state.
    pub(super) fn state(&self) -> State {
        match self {
            Self::Waiting | Self::Ended => State::Closed,
            Self::CookieWait => State::CookieWait,
            Self::CookieEchoed { .. } => State::CookieEchoed,
            Self::Established => State::Established,
            Self::ShutdownPending | Self::ShutdownSent | Self::ShutdownReceived | Self::ShutdownAckSent => {
                State::ShuttingDown
            }
        }
    }

    /// Whether the peer's verification tag is known.
    #[inline]
    pub(super) fn has_peer(&self) -> bool {
        !matches!(self, Self::Waiting | Self::CookieWait | Self::Ended)
    }

    /// Whether the cookie was accepted: false during the set-up and after the end.
    #[inline]
    pub(super) fn is_set_up(&self) -> bool {
        self.has_peer() && !matches!(self, Self::CookieEchoed { .. })
    }

    /// Whether DATA from the peer is processed (RFC 9260 section 6).
    #[inline]
    pub(super) fn takes_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    /// Whether DATA may be sent without a preceding COOKIE ECHO.
    #[inline]
    pub(super) fn gives_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Whether `send` accepts messages.
    #[inline]
    pub(super) fn takes_messages(&self) -> bool {
        matches!(self, Self::Waiting | Self::CookieWait | Self::CookieEchoed { .. } | Self::Established)
    }

    /// Whether a shutdown waits for our data.
    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        matches!(self, Self::ShutdownPending | Self::ShutdownReceived)
    }
}
