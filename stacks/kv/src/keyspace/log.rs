//! The log of changes, as commands that produce the same state when replayed: for the append-only file and
//! for replicas.

use netdyno_resp::write_command;

/// Commands in RESP since the log was last taken.
#[derive(Debug, Default)]
pub(crate) struct Log {
    on: bool,
    bytes: Vec<u8>,
    /// The database selected in the log.
    db: Option<usize>,
    /// The running command has logged a replacement.
    replaced: bool,
    transaction: Transaction,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Transaction {
    #[default]
    None,
    /// MULTI is logged with the first change of the transaction.
    Pending,
    Open,
}

impl Log {
    pub(crate) fn record(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Bytes that have not been taken.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forces a SELECT before the next command.
    pub(crate) fn select_again(&mut self) {
        self.db = None;
    }

    /// Called before a command.
    pub(crate) fn begin(&mut self) {
        self.replaced = false;
    }

    /// Called after a command that made changes.
    pub(crate) fn end(&mut self, db: usize, args: &[&[u8]]) {
        if !self.replaced {
            self.append(db, args);
        }
    }

    /// Logs this command instead of the running one; can be called repeatedly.
    pub(crate) fn replace(&mut self, db: usize, args: &[&[u8]]) {
        self.replaced = true;
        self.append(db, args);
    }

    pub(crate) fn append(&mut self, db: usize, args: &[&[u8]]) {
        if !self.on {
            return;
        }
        if self.transaction == Transaction::Pending {
            write_command(&mut self.bytes, &[b"MULTI"]);
            self.transaction = Transaction::Open;
        }
        if self.db != Some(db) {
            self.db = Some(db);
            write_command(&mut self.bytes, &[b"SELECT", itoa::Buffer::new().format(db).as_bytes()]);
        }
        write_command(&mut self.bytes, args);
    }

    /// Appends commands that were generated elsewhere for keys of `db`.
    pub(crate) fn append_raw(&mut self, db: usize, commands: &[u8]) {
        if self.on && !commands.is_empty() {
            self.db = Some(db);
            write_command(&mut self.bytes, &[b"SELECT", itoa::Buffer::new().format(db).as_bytes()]);
            self.bytes.extend_from_slice(commands);
        }
    }

    pub(crate) fn begin_transaction(&mut self) {
        self.transaction = Transaction::Pending;
    }

    pub(crate) fn end_transaction(&mut self) {
        if self.transaction == Transaction::Open {
            write_command(&mut self.bytes, &[b"EXEC"]);
        }
        self.transaction = Transaction::None;
        // Each command was logged separately.
        self.replaced = true;
    }
}
