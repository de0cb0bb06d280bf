//! Why the access control list denies a command.

use crate::error::Error;

/// Why a user may not run a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The user was deleted.
    User,
    /// The command, by its full name.
    Command(String),
    /// One of its keys.
    Key,
    /// One of its channels.
    Channel,
}

impl Denial {
    /// The reply to the command.
    pub(crate) fn error(&self) -> Error {
        match self {
            Self::User => Error::fixed("NOPERM this user was deleted"),
            Self::Command(name) => {
                Error::new(format!("NOPERM this user has no permissions to run the '{name}' command"))
            }
            Self::Key => Error::fixed(
                "NOPERM this user has no permissions to access one of the keys used as arguments",
            ),
            Self::Channel => Error::fixed(
                "NOPERM this user has no permissions to access one of the channels used as arguments",
            ),
        }
    }

    /// The reply to a command that was permitted when it was queued.
    pub(crate) fn error_in_exec(&self) -> Error {
        let reason = match self {
            Self::User => "no permission",
            Self::Command(_) => "no permission to execute the command or subcommand",
            Self::Key => "no permission to touch the specified keys",
            Self::Channel => "no permission to access one of the channels used as arguments to the command",
        };
        Error::new(format!(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command \
             is no longer allowed for the following reason: {reason}"
        ))
    }
}
