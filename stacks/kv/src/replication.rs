//! What is known of the server whose keys ours are a copy of.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::error::Error;
use crate::now::Now;
use crate::spec::{Flags, Group, Spec};

/// How far the link to the primary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkState {
    /// There is none; it is tried again.
    #[default]
    Connect,
    /// It is made.
    Connecting,
    /// The primary's keys come.
    Sync,
    /// What the primary changes comes.
    Connected,
}

/// What the program knows of the link to the primary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkStatus {
    /// How far it is.
    pub state: LinkState,
    /// Which history of changes is followed: forty digits of the primary's.
    pub history: String,
    /// Bytes of that history that are applied here.
    pub offset: u64,
    /// When something came from the primary, milliseconds since 1970.
    pub heard_ms: u64,
    /// Why there is no link.
    pub trouble: Option<String>,
}

/// The primary that is followed, if one is.
#[derive(Debug, Default)]
pub(crate) struct Replication {
    pub(crate) primary: Option<SocketAddr>,
    /// How often that was changed.
    pub(crate) turns: u64,
    pub(crate) link: LinkStatus,
    /// The primary's keys are being read: until all are there, nobody is served.
    pub(crate) loading: bool,
}

impl LinkState {
    /// As ROLE names it.
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
    /// Whether clients may not do everything.
    pub(crate) fn restricts(&self) -> bool {
        self.is_replica() || self.loading
    }

    pub(crate) fn is_replica(&self) -> bool {
        self.primary.is_some()
    }

    /// Follows another primary, or none.
    pub(crate) fn follow(&mut self, primary: Option<SocketAddr>) {
        // What was copied in part is thrown away by whoever has the link.
        *self = Self { primary, turns: self.turns + 1, loading: self.loading, ..Self::default() };
    }

    /// What a replica's clients may do: read, once there is something to read.
    pub(crate) fn admit(&self, spec: &Spec) -> Result<(), Error> {
        let group =
            matches!(spec.group, Group::Connection | Group::PubSub | Group::Transactions | Group::Server);
        if self.loading
            && (!group || matches!(spec.name, "ping" | "echo" | "save" | "bgsave" | "dbsize" | "debug"))
        {
            return Err(Error::fixed("LOADING Redis is loading the dataset in memory"));
        }
        if self.is_replica() && spec.flags.contains(Flags::WRITE) {
            return Err(Error::fixed("READONLY You can't write against a read only replica."));
        }
        Ok(())
    }

    /// Lines of INFO.
    pub(crate) fn tell(&self, now: Now, text: &mut String) {
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
