//! Between the engine and the program around it: what commands want of that, and what it tells the engine.

use crate::command::{Command, Commands, Context, Flags, Group, Keys, is};
use crate::error::Error;
use crate::session::OnTimeout;
use crate::{Engine, Now, SessionId};

/// What a command wants of the program around the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// `SHUTDOWN`: to end.
    Shutdown {
        /// With a snapshot first. If that fails the server goes on, and [`Engine::refuse_shutdown`] tells who asked.
        save: bool,
        /// It ends even then.
        force: bool,
    },
    /// `SAVE`, `BGSAVE`, or a save point: a snapshot has begun, which is to be taken ([`Engine::snapshot`]).
    Snapshot,
    /// `BGREWRITEAOF`: that the append-only file is rewritten.
    Rewrite,
}

/// What is known of the program around the engine.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Why nothing may be changed now.
    pub(crate) refusal: Option<Box<str>>,
    wishes: Vec<Wish>,
    /// There is an append-only file.
    has_log: bool,
    rewriting: bool,
}

impl Host {
    /// Once is enough.
    pub(crate) fn wish(&mut self, wish: Wish) {
        if !self.wishes.contains(&wish) {
            self.wishes.push(wish);
        }
    }
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
        let wishes = &mut self.world.host.wishes;
        if wishes.is_empty() { None } else { Some(wishes.remove(0)) }
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
    if host.rewriting || host.wishes.contains(&Wish::Rewrite) {
        return Err(Error::fixed("ERR Background append only file rewriting already in progress"));
    }
    host.wish(Wish::Rewrite);
    context.reply.simple("Background append only file rewriting started");
    Ok(())
}

fn shutdown(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let word = |name: &str| args[1..].iter().any(|arg| is(arg, name));
    if !args[1..].iter().all(|arg| ["save", "nosave", "now", "force"].iter().any(|word| is(arg, word)))
        || word("save") && word("nosave")
    {
        return Err(Error::SYNTAX);
    }
    let saves = &mut context.world.saves;
    let save = saves.kept && !word("nosave") && (word("save") || !saves.points.is_empty());
    context.world.host.wish(Wish::Shutdown { save, force: word("force") });
    if save {
        saves.await_shutdown(context.id);
        context.wait(args, &[], None, OnTimeout::Never);
    } else {
        // Redis says nothing: the connection ends.
        context.close = true;
    }
    Ok(())
}
