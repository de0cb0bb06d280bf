//! Limits of the server.

use std::time::Duration;

/// Concurrent connections. A further one replaces one that waits for its client; without such, it waits in the backlog.
pub(super) const CONNECTIONS_MAX: usize = 64;
/// Concurrent connections of one client, more than a browser opens. A further one replaces one that waits for the
/// client; without such, it is closed.
pub(super) const CONNECTIONS_PER_CLIENT_MAX: usize = 16;
/// Connections of one client within a second that are not reported.
pub(super) const CONNECTIONS_PER_SECOND: u32 = 50;
/// Clients whose connections within a second are counted.
pub(super) const CLIENTS_COUNTED_MAX: usize = 1024;
/// Concurrent connections that follow a run; fewer than [`CONNECTIONS_MAX`], so that pages remain available.
pub(super) const FOLLOWERS_MAX: usize = 16;
/// Those of one client, more than a browser opens.
pub(super) const FOLLOWERS_PER_CLIENT_MAX: usize = 8;
/// Pages rendered concurrently, each with its own connection to the store.
pub(super) const PAGES_AT_ONCE: usize = 2;
/// Those of one client: the others remain available while a page is rendered that takes long.
pub(super) const PAGES_PER_CLIENT_AT_ONCE: usize = 1;
/// Size of a request's head.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Header lines of a request.
pub(super) const HEAD_LINES_MAX: usize = 64;
/// Size of the token form's body.
pub(super) const FORM_BYTES_MAX: usize = 1 << 10;
/// Time from the connection to the end of a request's head.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time from the connection to the end of the response, enough for the largest page over a slow link.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Age from which a connection that waits for its client can be replaced.
pub(super) const REPLACED_AFTER: Duration = Duration::from_millis(100);
/// Time between two reports of the same event.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// Time that one connection may follow a run. Browsers reconnect automatically.
pub(super) const FOLLOW_TIME: Duration = Duration::from_secs(600);
/// Interval between polls of the store while a run is followed. Without changes, only a counter is read.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of keepalives, which detect disconnected clients.
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Length of a token: shorter ones can be guessed; longer ones indicate a wrong file.
pub(super) const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 16..=256;
