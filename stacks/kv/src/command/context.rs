//! What a command runs in.

use netdyno_resp::Reply;

use super::Commands;
use crate::error::Error;
use crate::keyspace::{Class, Deadline, Keyspace};
use crate::limits::STRING_BYTES_MAX;
use crate::number;
use crate::session::{Blocked, OnTimeout, Session, SessionId, owned};
use crate::world::World;

/// Whether a command may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It may: it came from a connection by itself.
    Allowed,
    /// In a transaction nothing waits: it is as if the time were over at once.
    Never,
    /// It waits already, and is tried again.
    Again,
}

/// One command's surroundings: the keys of its database, its session, its reply.
pub struct Context<'a> {
    pub(crate) keys: &'a mut Keyspace,
    pub(crate) world: &'a mut World,
    pub(crate) commands: &'a Commands,
    pub(crate) reply: Reply<'a>,
    pub(crate) id: SessionId,
    pub(crate) waiting: Waiting,
    /// It was tried again, and there still is nothing.
    pub(crate) still_waits: bool,
    /// The connection ends after the reply.
    pub(crate) close: bool,
}

impl<'a> Context<'a> {
    /// Where the reply goes.
    pub fn reply(&mut self) -> &mut Reply<'a> {
        &mut self.reply
    }

    /// The string at a key.
    pub fn string(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        self.keys.string(key)
    }

    /// Sets a string, without a deadline.
    pub fn set_string(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.len() > STRING_BYTES_MAX {
            return Err(Error::TOO_LONG);
        }
        self.keys.set_string(key, value, Deadline::Clear);
        self.keys.changed_by(Class::STRING, "set", key);
        Ok(())
    }

    /// Removes a key; `false` if there is none.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.keys.delete(key)
    }

    pub(crate) fn session(&mut self) -> Result<&mut Session, Error> {
        self.world.sessions.get_mut(self.id).ok_or(Error::fixed("ERR the connection is gone"))
    }

    /// Logs this in place of the command that runs.
    pub(crate) fn log(&mut self, args: &[&[u8]]) {
        self.keys.log.replace(self.keys.db, args);
    }

    /// There is nothing at any of these keys: the session waits for one to get something, or gets a null.
    pub(crate) fn wait(
        &mut self,
        args: &[&[u8]],
        keys: &[&[u8]],
        deadline: Option<u64>,
        on_timeout: OnTimeout,
    ) {
        match self.waiting {
            Waiting::Again => self.still_waits = true,
            Waiting::Never if on_timeout == OnTimeout::Null => self.reply.null(),
            Waiting::Never => self.reply.null_array(),
            Waiting::Allowed => {
                let keys = keys.iter().map(|key| Box::from(*key)).collect();
                let blocked = Blocked { args: owned(args), db: self.keys.db, keys, deadline, on_timeout };
                self.world.blocking.add(self.keys, &mut self.world.sessions, self.id, blocked);
            }
        }
    }

    /// When a wait of so many seconds, in text, is over.
    pub(crate) fn timeout(&self, text: &[u8]) -> Result<Option<u64>, Error> {
        let seconds =
            number::float(text).ok_or(Error::fixed("ERR timeout is not a float or out of range"))?;
        if seconds < 0.0 {
            return Err(Error::fixed("ERR timeout is negative"));
        }
        let ms = (seconds * 1000.0).ceil();
        if ms >= i64::MAX as f64 || !ms.is_finite() {
            return Err(Error::fixed("ERR timeout is out of range"));
        }
        if ms == 0.0 {
            return Ok(None);
        }
        let deadline = self.keys.now.unix_ms.checked_add(ms as u64).filter(|at| i64::try_from(*at).is_ok());
        deadline.map(Some).ok_or(Error::fixed("ERR timeout is out of range"))
    }
}
