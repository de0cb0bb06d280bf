//! Between the engine and the program around it: what commands want of that, and what it tells the engine.

use crate::command::{Command, Commands, Context, Flags, Group, Keys, is};
use crate::error::Error;
use crate::{Engine, Now, SessionId};

/// What a command wants of the program around the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// `SHUTDOWN`: to end.
    Shutdown,
    /// `BGREWRITEAOF`: that the append-only file is rewritten.
    Rewrite,
}

/// What is known of the program around the engine.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Why nothing may be changed now.
    pub(crate) refusal: Option<Box<str>>,
    wish: Option<Wish>,
    /// What `CONFIG SET` has set, and the program was not told.
    pub(crate) configured: Vec<String>,
    /// There is an append-only file.
    has_log: bool,
    rewriting: bool,
}

impl Engine {
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
        self.world.host.wish.take()
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

    /// Says that this session will probably use this key soon. Several at once, before their commands are executed, are
    /// fetched from memory side by side, not one after the other. Nothing changes but the time that the commands take.
    #[inline]
    pub fn warm(&self, id: SessionId, key: &[u8]) {
        if let Some(session) = self.world.sessions.get(id) {
            self.keys.warm(session.db, key);
        }
    }

    /// Whether there are so many keys that [`warm`](Self::warm) is worthwhile.
    #[inline]
    pub fn wants_warmth(&self, id: SessionId) -> bool {
        self.world.sessions.get(id).is_some_and(|session| self.keys.wants_warmth(session.db))
    }

    /// A session of the program's own, which may do everything: to execute an append-only file.
    pub fn open_trusted(&mut self, now: Now) -> SessionId {
        let id = self.open(now, "");
        if let Some(session) = self.world.sessions.get_mut(id) {
            (session.authenticated, session.unrestricted) = (true, true);
        }
        id
    }
}

/// Adds the commands that only wish.
pub(crate) fn add_commands(commands: &mut Commands) {
    let flags = Flags::ADMIN.with(Flags::DANGEROUS).with(Flags::NO_MULTI);
    commands.add(Command::new("bgrewriteaof", 1, flags, Keys::None, Group::Server, rewrite));
    commands.add(Command::new("shutdown", -1, flags, Keys::None, Group::Server, shutdown));
}

fn rewrite(context: &mut Context<'_>, _: &[&[u8]]) -> Result<(), Error> {
    let host = &mut context.world.host;
    if !host.has_log {
        return Err(Error::fixed("ERR there is no append-only file: start the server with --appendonly yes"));
    }
    if host.rewriting || host.wish == Some(Wish::Rewrite) {
        return Err(Error::fixed("ERR Background append only file rewriting already in progress"));
    }
    host.wish = Some(Wish::Rewrite);
    context.reply.simple("Background append only file rewriting started");
    Ok(())
}

/// What is to be saved is in the append-only file: there is no other way to end.
fn shutdown(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if !args[1..].iter().all(|arg| ["save", "nosave", "now", "force"].iter().any(|word| is(arg, word))) {
        return Err(Error::SYNTAX);
    }
    context.world.host.wish = Some(Wish::Shutdown);
    // Redis says nothing: the connection ends.
    context.close = true;
    Ok(())
}
