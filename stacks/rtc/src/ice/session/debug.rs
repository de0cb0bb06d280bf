//! `Debug` of a session.

use std::fmt;

use super::Session;

impl fmt::Debug for Session {
    /// Without the agent, which contains the passwords of both sides.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("state", &self.agent.state())
            .field("known", &self.known)
            .field("mapped", &self.mapped)
            .field("is_settled", &self.is_settled)
            .field("is_answered", &self.is_answered)
            .finish_non_exhaustive()
    }
}
