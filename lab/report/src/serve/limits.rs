//! What the server holds at the most, and for how long.

use std::time::Duration;

/// Connections at once; further ones wait to be taken.
pub(super) const CONNECTIONS_MAX: usize = 64;
/// Of these, those that follow a run: so many leave room for pages.
pub(super) const FOLLOWERS_MAX: usize = 16;
/// Pages that are made at once, each with the store open.
pub(super) const PAGES_AT_ONCE: usize = 2;
/// A request's head.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Lines of a request's head.
pub(super) const HEAD_LINES_MAX: usize = 64;
/// The form with the token.
pub(super) const FORM_BYTES_MAX: usize = 1 << 10;
/// From the connection to the end of a request's head.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);
/// From the connection to the end of the answer: the largest page, over a slow line.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(60);
/// How long one connection may follow a run; browsers come again by themselves.
pub(super) const FOLLOW_TIME: Duration = Duration::from_secs(600);
/// The store is looked at this often, while somebody follows a run. Only a number is read unless the run went on.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Something is sent at least this often, so that who went away is noticed.
pub(super) const SIGN_EVERY: Duration = Duration::from_secs(15);
/// Bytes of a token in a file: fewer can be guessed, and more are some other file.
pub(super) const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 16..=256;
