//! Why a file is not taken.

use super::FORMAT;
use super::limits::{LINE_BYTES_MAX, TEXT_BYTES_MAX};

/// Why a file is not taken: its writer's fault, or the way's that it came. Nothing of it was kept.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(std::io::Error),
    /// It is something else.
    #[error("is no exported run ({0}); `netdyno export` writes them")]
    Foreign(String),
    /// A newer netdyno wrote it.
    #[error(
        "has format {found}, this netdyno reads up to {FORMAT}: use the newer netdyno {netdyno} that wrote it"
    )]
    Newer {
        /// Its format.
        found: u32,
        /// The version that wrote it.
        netdyno: String,
    },
    /// The rest is missing.
    #[error("is cut short after line {0}: copy it again")]
    CutShort(usize),
    /// It is not what was written.
    #[error("is damaged: line {line}: {what}; copy it again")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It says what no run can be.
    #[error("holds no run that can be: {0}")]
    Impossible(String),
    /// See [`TEXT_BYTES_MAX`].
    #[error("has more than {} MiB when decompressed, which no run has", TEXT_BYTES_MAX >> 20)]
    TooLarge,
    /// See [`LINE_BYTES_MAX`].
    #[error("has more than {} MiB in line {line}, which no run has", LINE_BYTES_MAX >> 20)]
    LineTooLong {
        /// The line, from 1.
        line: usize,
    },
}
