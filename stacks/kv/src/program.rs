//! The interface of the host program, apart from commands.

use std::net::SocketAddr;

use crate::engine::Engine;
use crate::held::Buffers;
use crate::host::HostRequest;
use crate::session::SessionId;

impl Engine {
    /// The value of a parameter.
    pub fn config(&self, name: &str) -> Option<&str> {
        self.world.config.get(name)
    }

    /// Sets the local address of a session.
    pub fn set_local(&mut self, id: SessionId, local: Option<SocketAddr>) {
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.local = local;
        }
    }

    /// Sets the sizes of the host's buffers for a session, for CLIENT LIST and `maxmemory-clients`.
    #[inline]
    pub fn note_buffers(&mut self, id: SessionId, buffers: Buffers) {
        self.world.sessions.note_buffers(id, buffers);
    }

    /// Whether clients hold more memory than `maxmemory-clients`, according to the sizes set for each.
    #[inline]
    pub fn exceeds_client_memory(&self) -> bool {
        self.world.exceeds_client_memory()
    }

    /// Aborts the sessions that hold most until the others hold no more than `maxmemory-clients`.
    pub fn evict_clients(&mut self) {
        self.world.evict_clients();
    }

    /// Counts a connection for which no session was opened because of a limit.
    pub fn count_rejected_connection(&mut self) {
        self.world.sessions.refusals.connections += 1;
    }

    /// Counts a client that was disconnected because of unread messages or replies.
    pub fn count_unread_output(&mut self) {
        self.world.sessions.refusals.unread += 1;
    }

    /// Sets lines for a section of INFO. Each ends with CR and LF.
    pub fn set_info(&mut self, section: &str, lines: &str) {
        self.world.info.insert(section.to_ascii_lowercase(), lines.to_owned());
    }

    /// Refuses write commands with this error until called with `None`.
    pub fn refuse_writes(&mut self, error: Option<String>) {
        self.world.host.refusal = error.map(String::into_boxed_str);
    }

    /// Sets whether there is an append-only file, and whether a rewrite is in progress.
    pub fn set_log_state(&mut self, exists: bool, rewriting: bool) {
        (self.world.host.has_log, self.world.host.rewriting) = (exists, rewriting);
    }

    /// Takes a request from a command. Call after one or several commands.
    #[inline]
    pub fn take_request(&mut self) -> Option<HostRequest> {
        self.world.host.take_request()
    }

    /// The parameters that `CONFIG SET` has changed since the last call.
    #[inline]
    pub fn take_configured(&mut self) -> Vec<String> {
        std::mem::take(&mut self.world.host.configured)
    }

    /// Sets the largest `maxclients` that CONFIG SET accepts.
    pub fn set_clients_max(&mut self, clients: usize) {
        self.world.config.clients_max = Some(clients);
    }

    /// Declares a parameter that the host cannot change at runtime. CONFIG SET then accepts only the current
    /// value; the error contains `remedy`.
    pub fn fix_config(&mut self, name: &str, remedy: &str) {
        self.world.config.fixed.insert(name.to_ascii_lowercase(), remedy.to_owned());
    }

    /// Sets the clock that times commands for SLOWLOG and LATENCY, in microseconds. Without it both stay
    /// empty.
    pub fn set_stopwatch(&mut self, now_us: fn() -> u64) {
        self.world.slow.set_stopwatch(now_us);
    }

    /// Sets a function that generates lines for a section of INFO. Each line ends with CR and LF.
    pub fn set_info_source(&mut self, section: &str, lines: fn() -> String) {
        self.world.info_sources.insert(section.to_ascii_lowercase(), lines);
    }
}
