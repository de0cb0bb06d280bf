//! Where pictures come from.
//!
//! | does | does not |
//! |---|---|
//! | give JPEG files one after the other, as they are | look into them: whoever sends them does |
//! | say whether they come at a time of their own | pace: that is the sender's part |

#[cfg(all(feature = "camera", target_os = "linux"))]
mod camera;
mod child;
mod files;
#[cfg(feature = "pattern")]
mod pattern;
mod pictures;
mod stream;

use std::time::Duration;

#[cfg(all(feature = "camera", target_os = "linux"))]
pub use camera::{Camera, CameraSettings};
pub use files::Files;
#[cfg(feature = "pattern")]
pub use pattern::{Pattern, PatternSettings};
pub use stream::StreamSource;

/// For how long a source waits for the world before it says [`Next::Pending`], so that whoever asks can do something else, or stop.
pub const SOURCE_WAIT: Duration = Duration::from_millis(200);

/// Where pictures come from, one JPEG file after the other. Its calls block, for [`SOURCE_WAIT`] at most where the world is waited for.
pub trait Source: Send {
    /// Puts the next picture into `into`, which is cleared first.
    ///
    /// # Errors
    /// What cannot be read or is too large. A source that has failed may be asked again; it then fails again, or goes on behind what was wrong.
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError>;

    /// When pictures come.
    fn timing(&self) -> Timing;
}

/// What a source had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A picture.
    Picture,
    /// None yet: ask again.
    Pending,
    /// None any more.
    End,
}

/// When a source's pictures come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// At a time of their own, as a camera's do: each is sent as it comes.
    Live,
    /// Whenever they are asked for: the sender's rate decides.
    OnDemand,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// What was read from, and what the system said.
    #[error("{name}: {error}")]
    Io {
        /// The file, device or command.
        name: String,
        /// What the system said.
        #[source]
        error: std::io::Error,
    },
    /// What was read from, and what is wrong with it.
    #[error("{name}: {reason}")]
    Unusable {
        /// The file, device or command.
        name: String,
        /// The cause, and what helps.
        reason: String,
    },
}

impl SourceError {
    pub(crate) fn io(name: impl ToString, error: std::io::Error) -> Self {
        Self::Io { name: name.to_string(), error }
    }

    pub(crate) fn unusable(name: impl ToString, reason: String) -> Self {
        Self::Unusable { name: name.to_string(), reason }
    }
}
