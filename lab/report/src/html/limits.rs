//! Size limits of a page. A page states what it omits and the command that shows it.

/// Bytes of the output of one failed cell; the middle is omitted.
pub(super) const LOG_BYTES_MAX: usize = 16 << 10;
/// Bytes of the output of all failed cells.
pub(super) const LOGS_BYTES_MAX: usize = 512 << 10;
/// Lines of a reason shown outside the log.
pub(super) const REASON_LINES_MAX: usize = 12;
/// Settings of a sweep that have pictures.
pub(super) const SETTINGS_DRAWN_MAX: usize = 12;
/// Pictures of a metric against a parameter.
pub(super) const SWEEPS_DRAWN_MAX: usize = 12;
/// Cells with details.
pub(super) const CELLS_MAX: usize = 400;
/// Listed values of a metric of one cell.
pub(super) const SAMPLES_MAX: usize = 200;
/// Notes of a cell.
pub(super) const NOTES_MAX: usize = 20;
