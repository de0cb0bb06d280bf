//! How much a page holds. What is left out is said, with the command that has it.

/// Bytes of what one failed cell printed: the first and the last of it.
pub(super) const LOG_BYTES_MAX: usize = 16 << 10;
/// Bytes of what all of them printed.
pub(super) const LOGS_BYTES_MAX: usize = 512 << 10;
/// Lines of a reason that stand outside the log.
pub(super) const REASON_LINES_MAX: usize = 12;
/// Settings of a sweep with pictures of their own.
pub(super) const PLACES_DRAWN_MAX: usize = 12;
/// Pictures of a metric along a parameter.
pub(super) const SWEEPS_DRAWN_MAX: usize = 12;
/// Cells with all that is known of them.
pub(super) const CELLS_MAX: usize = 400;
/// Values of a metric of one cell that are listed.
pub(super) const SAMPLES_MAX: usize = 200;
/// Notes of a cell.
pub(super) const NOTES_MAX: usize = 20;
