//! Why bytes are no snapshot, or none that can be kept here.

/// What is wrong with a snapshot, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}{}: {fault}", key.as_ref().map(|key| format!(", key '{key}'")).unwrap_or_default())]
pub struct RdbError {
    /// Where the part begins that could not be read.
    pub at: u64,
    /// The key whose value it is.
    pub key: Option<String>,
    /// What is wrong.
    pub fault: RdbFault,
}

/// What is wrong with a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RdbFault {
    /// Something else, not a snapshot.
    #[error("it does not begin as a snapshot does, with REDIS and four digits")]
    NotRdb,
    /// Of a Redis that came later.
    #[error("version {0} of the format is not known; up to {max} is, which Redis 7.2 writes", max = super::VERSION_MAX)]
    Version(u16),
    /// A type that is not kept here.
    #[error("{0} (type {1}) cannot be kept here: delete the key before the snapshot is made")]
    Unsupported(&'static str, u8),
    /// A byte that means nothing.
    #[error("type {0} is not known")]
    UnknownType(u8),
    /// A length or code that means nothing.
    #[error("{0}")]
    Damaged(&'static str),
    /// It says how long something is, and that is more than may be.
    #[error("a string of {0} bytes is too long")]
    TooLong(u64),
    /// Twice the same.
    #[error("{0} comes twice")]
    Twice(&'static str),
    /// For a database that there is not.
    #[error("it is in database {0}, and there are {1}: start the server with more (--databases)")]
    Database(u64, usize),
    /// The bytes are not those that were written.
    #[error("the checksum is wrong: the bytes are not those that were written")]
    Checksum,
    /// It ends before its end.
    #[error("it ends there, before its end")]
    CutOff,
}

/// Why a step of reading ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// More bytes are needed.
    Partial,
    Fault(RdbFault),
}

impl From<RdbFault> for Stop {
    fn from(fault: RdbFault) -> Self {
        Self::Fault(fault)
    }
}
