//! The engine and the program that it is part of: what one asks of the other beside commands.

use std::net::SocketAddr;

use crate::engine::Engine;
use crate::host::Wish;
use crate::session::SessionId;

impl Engine {
    /// A parameter of the configuration.
    pub fn config(&self, name: &str) -> Option<&str> {
        self.world.config.get(name)
    }

    /// Tells the address that a session was accepted at.
    pub fn set_local(&mut self, id: SessionId, local: Option<SocketAddr>) {
        if let Some(session) = self.world.sessions.get_mut(id) {
            session.local = local;
        }
    }

    /// Tells how many bytes of a session arrived and wait, and how many of its answers it has not taken: for CLIENT LIST.
    #[inline]
    pub fn note_waiting(&mut self, id: SessionId, unread: usize, unsent: usize) {
        if let Some(session) = self.world.sessions.get_mut(id) {
            (session.unread, session.unsent) = (unread, unsent);
        }
    }

    /// Lines that INFO shows in a section of its own or of the core's: what only the server knows. Each ends with CR and LF.
    pub fn set_info(&mut self, section: &str, lines: &str) {
        self.world.info.insert(section.to_ascii_lowercase(), lines.to_owned());
    }

    /// Refuses commands that change something, with this error, until told otherwise.
    pub fn refuse_writes(&mut self, error: Option<String>) {
        self.world.host.refusal = error.map(String::into_boxed_str);
    }

    /// Whether there is an append-only file, and whether it is being rewritten.
    pub fn set_log_state(&mut self, exists: bool, rewriting: bool) {
        (self.world.host.has_log, self.world.host.rewriting) = (exists, rewriting);
    }

    /// What a command wants of the program; asked after each command, or after several.
    #[inline]
    pub fn take_wish(&mut self) -> Option<Wish> {
        self.world.host.take_wish()
    }

    /// The parameters that `CONFIG SET` has set since this was asked last: some are the program's own.
    #[inline]
    pub fn take_configured(&mut self) -> Vec<String> {
        std::mem::take(&mut self.world.host.configured)
    }

    /// The greatest `maxclients` that CONFIG SET takes: what the program has made room for.
    pub fn set_clients_max(&mut self, clients: usize) {
        self.world.config.clients_max = Some(clients);
    }

    /// A parameter that the program cannot change while it runs: CONFIG SET takes the value that it has, and else says how to change it.
    pub fn fix_config(&mut self, name: &str, remedy: &str) {
        self.world.config.fixed.insert(name.to_ascii_lowercase(), remedy.to_owned());
    }

    /// Microseconds from any moment on, by which commands are timed for SLOWLOG and LATENCY. Without it those stay empty.
    pub fn set_stopwatch(&mut self, now_us: fn() -> u64) {
        self.world.slow.set_stopwatch(now_us);
    }

    /// Lines that INFO shows in a section, made when they are asked for. Each ends with CR and LF.
    pub fn set_info_source(&mut self, section: &str, lines: fn() -> String) {
        self.world.info_sources.insert(section.to_ascii_lowercase(), lines);
    }
}
