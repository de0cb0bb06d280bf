//! What was changed, as commands that give the same state when executed again: for an append-only file and for replicas.

use netdyno_resp::write_command;

/// Commands in RESP, since last taken.
#[derive(Debug, Default)]
pub(crate) struct Log {
    on: bool,
    bytes: Vec<u8>,
    /// The database that the last command in the log was for.
    db: Option<usize>,
    /// The command that runs has said itself what to log.
    replaced: bool,
    transaction: Transaction,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Transaction {
    #[default]
    None,
    /// MULTI stands in the log only once something was changed.
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

    /// Bytes that nobody has taken.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The next command says its database, whichever the last one was for.
    pub(crate) fn select_again(&mut self) {
        self.db = None;
    }

    /// A command begins.
    pub(crate) fn begin(&mut self) {
        self.replaced = false;
    }

    /// A command has run that changed something.
    pub(crate) fn end(&mut self, db: usize, args: &[&[u8]]) {
        if !self.replaced {
            self.append(db, args);
        }
    }

    /// In place of the command that runs, this one is logged; or several.
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

    /// Bytes that set keys of `db`, made elsewhere.
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
        // Each command has been logged by itself.
        self.replaced = true;
    }
}
