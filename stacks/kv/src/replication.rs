//! The state of replication from a primary.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::error::Error;
use crate::spec::{Flags, Group, Spec};
use crate::timestamp::Timestamp;

/// The state of the link to the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkState {
    /// Not connected; a connection will be attempted.
    #[default]
    Connect,
    /// Connection or handshake in progress.
    Connecting,
    /// Receiving the copy.
    Sync,
    /// Receiving changes.
    Connected,
}

/// The status of the link to the primary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkStatus {
    /// Its state.
    pub state: LinkState,
    /// The primary's replication ID: 40 hexadecimal digits.
    pub history: String,
    /// Offset in that history up to which changes are applied.
    pub offset: u64,
    /// Time of the last received data, in Unix milliseconds.
    pub heard_ms: u64,
    /// Why the link is down.
    pub trouble: Option<String>,
}

/// The primary, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Replication {
    pub(crate) primary: Option<SocketAddr>,
    /// Generation number of the primary.
    pub(crate) generation: u64,
    pub(crate) link: LinkStatus,
    /// A copy is being loaded, so clients cannot access keys.
    pub(crate) loading: bool,
}

impl LinkState {
    /// The name that ROLE regeneration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Connecting => "connecting",
            Self::Sync => "sync",
            Self::Connected => "connected",
        }
    }
}

impl Replication {
    /// Whether some commands are refused.
    pub(crate) fn restricts(&self) -> bool {
        self.is_replica() || self.loading
    }

    pub(crate) fn is_replica(&self) -> bool {
        self.primary.is_some()
    }

    /// Changes the primary.
    pub(crate) fn follow(&mut self, primary: Option<SocketAddr>) {
        // The link discards an incomplete copy.
        *self = Self { primary, generation: self.generation + 1, loading: self.loading, ..Self::default() };
    }

    /// Whether a command cannot run while a copy is loaded.
    pub(crate) fn needs_data(spec: &Spec) -> bool {
        let group =
            matches!(spec.group, Group::Connection | Group::PubSub | Group::Transactions | Group::Server);
        !group || matches!(spec.name, "ping" | "echo" | "save" | "bgsave" | "dbsize" | "debug")
    }

    /// Checks whether clients of a replica may run a command.
    pub(crate) fn admit(&self, flags: Flags, needs_data: bool) -> Result<(), Error> {
        if self.loading && needs_data {
            return Err(Error::fixed("LOADING Redis is loading the dataset in memory"));
        }
        if self.is_replica() && flags.contains(Flags::WRITE) {
            return Err(Error::fixed("READONLY You can't write against a read only replica."));
        }
        Ok(())
    }

    /// The lines of INFO.
    pub(crate) fn write_info(&self, now: Timestamp, text: &mut String) {
        let Some(primary) = self.primary else { return };
        let LinkStatus { state, history, offset, heard_ms, trouble } = &self.link;
        let up = *state == LinkState::Connected;
        let ago = if up { (now.unix_ms.saturating_sub(*heard_ms) / 1000) as i64 } else { -1 };
        let _ = write!(
            text,
            "role:slave\r\nmaster_host:{}\r\nmaster_port:{}\r\nmaster_link_status:{}\r\nmaster_last_io_seconds_ago:{ago}\r\n\
             master_sync_in_progress:{}\r\nslave_read_repl_offset:{offset}\r\nslave_repl_offset:{offset}\r\n",
            primary.ip(),
            primary.port(),
            if up { "up" } else { "down" },
            u8::from(*state == LinkState::Sync),
        );
        if let Some(why) = trouble {
            let _ = write!(text, "master_link_trouble:{}\r\n", why.replace(['\r', '\n'], " "));
        }
        let _ = write!(
            text,
            "slave_priority:100\r\nslave_read_only:1\r\nconnected_slaves:0\r\nmaster_replid:{history}\r\n\
             master_repl_offset:{offset}\r\n"
        );
    }
}
