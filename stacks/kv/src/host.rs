//! Between commands and the program around the engine: what they want of it, and what is known of it.

/// What a command wants of the program around the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// `SHUTDOWN`: to end.
    Shutdown {
        /// With a snapshot first. If that fails the server goes on, and [`Engine::refuse_shutdown`](crate::Engine::refuse_shutdown) tells who asked.
        save: bool,
        /// It ends even then.
        force: bool,
    },
    /// `SAVE`, `BGSAVE`, or a save point: a snapshot has begun, which is to be taken ([`Engine::snapshot`](crate::Engine::snapshot)).
    Snapshot,
    /// `REPLICAOF`: that another primary is followed, or none ([`Engine::primary`](crate::Engine::primary)).
    Follow,
    /// `PSYNC`: that another server follows this one ([`Engine::take_follower`](crate::Engine::take_follower)).
    Feed,
    /// `WAIT`: that those who follow are asked how far they are.
    Ask,
    /// `BGREWRITEAOF`: that the append-only file is rewritten.
    Rewrite,
}

/// What is known of the program around the engine.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// Why nothing may be changed now.
    pub(crate) refusal: Option<Box<str>>,
    wishes: Vec<Wish>,
    /// What `CONFIG SET` has set, and the program was not told.
    pub(crate) configured: Vec<String>,
    /// There is an append-only file.
    pub(crate) has_log: bool,
    pub(crate) rewriting: bool,
}

impl Host {
    /// Once is enough.
    pub(crate) fn wish(&mut self, wish: Wish) {
        if !self.wishes.contains(&wish) {
            self.wishes.push(wish);
        }
    }

    pub(crate) fn wishes(&self, wish: Wish) -> bool {
        self.wishes.contains(&wish)
    }

    /// The one that came first.
    #[inline]
    pub(crate) fn take_wish(&mut self) -> Option<Wish> {
        if self.wishes.is_empty() { None } else { Some(self.wishes.remove(0)) }
    }
}
