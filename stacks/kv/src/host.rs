//! Between commands and the program around the engine: what they want of it, and what is known of it.

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
    pub(crate) wish: Option<Wish>,
    /// What `CONFIG SET` has set, and the program was not told.
    pub(crate) configured: Vec<String>,
    /// There is an append-only file.
    pub(crate) has_log: bool,
    pub(crate) rewriting: bool,
}
