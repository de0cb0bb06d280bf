//! Where an association stands, in the eight states of RFC 9260 section 4 and one for the end.

use super::State;

/// The state, with what is only needed in it.
#[derive(Debug)]
pub(super) enum Phase {
    /// CLOSED: waits for INIT or `connect`.
    Waiting,
    /// COOKIE-WAIT.
    CookieWait,
    /// COOKIE-ECHOED.
    CookieEchoed {
        /// The peer's cookie, to be sent again if need be.
        cookie: Box<[u8]>,
    },
    /// ESTABLISHED.
    Established,
    /// SHUTDOWN-PENDING: `shutdown` was called, our data is still on its way.
    ShutdownPending,
    /// SHUTDOWN-SENT.
    ShutdownSent,
    /// SHUTDOWN-RECEIVED: the peer wants to end, our data is still on its way.
    ShutdownReceived,
    /// SHUTDOWN-ACK-SENT.
    ShutdownAckSent,
    /// CLOSED, for good.
    Ended,
}

impl Phase {
    /// What the user sees.
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

    /// Whether the peer's verification tag is known, so that all chunks have their meaning.
    #[inline]
    pub(super) fn has_peer(&self) -> bool {
        !matches!(self, Self::Waiting | Self::CookieWait | Self::Ended)
    }

    /// Whether the cookie was taken: all but the set-up and the end.
    #[inline]
    pub(super) fn is_set_up(&self) -> bool {
        self.has_peer() && !matches!(self, Self::CookieEchoed { .. })
    }

    /// Whether DATA from the peer counts (RFC 9260 section 6).
    #[inline]
    pub(super) fn takes_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    /// Whether DATA may be sent without a COOKIE ECHO before it.
    #[inline]
    pub(super) fn gives_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Whether the user may hand in more messages.
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
