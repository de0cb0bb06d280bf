//! Limits of the store.

use std::time::Duration;

/// How long to wait for another netdyno that is writing.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Most cells of one run.
pub const CELLS_MAX: usize = 2000;
