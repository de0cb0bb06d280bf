//! The interface between commands and the host program.

/// A request from a command to the host program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRequest {
    /// `SHUTDOWN`: stop the server.
    Shutdown {
        /// Save a snapshot first. If that fails, the server keeps running and
        /// [`Engine::refuse_shutdown`](crate::Engine::refuse_shutdown) replies to the command.
        save: bool,
        /// Stop even if the snapshot fails.
        force: bool,
    },
    /// `SAVE`, `BGSAVE` or a save point: a snapshot has started, to be collected with
    /// [`Engine::snapshot`](crate::Engine::snapshot).
    Snapshot,
    /// `REPLICAOF`: the primary has changed ([`Engine::primary`](crate::Engine::primary)).
    Follow,
    /// `PSYNC`: a replica requests the changes ([`Engine::take_follower`](crate::Engine::take_follower)).
    ServeReplicas,
    /// `WAIT`: request acknowledgements from the replicas.
    Acknowledgements,
    /// `BGREWRITEAOF`: rewrite the append-only file.
    Rewrite,
}

/// The state of the host program.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// The error for write commands, while they are refused.
    pub(crate) refusal: Option<Box<str>>,
    requests: Vec<HostRequest>,
    /// Parameters that `CONFIG SET` has changed and the host has not collected.
    pub(crate) configured: Vec<String>,
    /// There is an append-only file.
    pub(crate) has_log: bool,
    pub(crate) rewriting: bool,
}

impl Host {
    /// Adds a request unless it is pending already.
    pub(crate) fn request(&mut self, request: HostRequest) {
        if !self.requests.contains(&request) {
            self.requests.push(request);
        }
    }

    pub(crate) fn is_requested(&self, request: HostRequest) -> bool {
        self.requests.contains(&request)
    }

    /// Takes the oldest request.
    #[inline]
    pub(crate) fn take_request(&mut self) -> Option<HostRequest> {
        if self.requests.is_empty() { None } else { Some(self.requests.remove(0)) }
    }
}
