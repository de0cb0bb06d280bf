//! Both roles of the workload `stream` (`workloads/stream.toml`), without sockets.
//!
//! | does | does not |
//! |---|---|
//! | read the parameters, answer the lab, exchange ports and acknowledgements | open a socket or choose a runtime |
//! | generate the sender's messages ([`Source`]) | write the length before a message |
//! | check and count the receiver's messages ([`Sink`]) | buffer |
//!
//! It is separate from `contenders/sdk/rust`, so that a change affects only the contenders of this workload.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod job;
mod receiver;
mod sender;
mod sink;
mod source;

use std::io::{self, ErrorKind};
use std::time::Duration;

pub use job::{Job, Transport};
pub use receiver::Receiver;
pub use sender::Sender;
pub use sink::Sink;
pub use source::{Batch, Source};

/// Length of the number before each message of a TCP stream.
pub const PREFIX_BYTES: usize = 4;
/// How long to sleep when [`Source::next_message`] has no message.
pub const PAUSE: Duration = Duration::from_millis(1);

/// The role of this process.
#[derive(Debug)]
pub enum Role {
    /// Sends.
    Sender(Sender),
    /// Receives.
    Receiver(Receiver),
}

impl Role {
    /// The parameters.
    pub fn job(&self) -> &Job {
        match self {
            Self::Sender(sender) => &sender.job,
            Self::Receiver(receiver) => &receiver.job,
        }
    }
}

/// Reads the setup, and answers the lab on a separate thread from then on. Unknown roles and parameters end the process. The role
/// lasts until the process ends.
pub fn connect() -> &'static Role {
    let (lab, setup, events) = netdyno_contender::Lab::connect();
    let job = Job::new(lab, &setup);
    let role: &'static Role = Box::leak(Box::new(match setup.role.as_str() {
        "sender" => Role::Sender(Sender::new(job)),
        "receiver" => Role::Receiver(Receiver::new(job)),
        other => lab.unsupported(format!("the role `{other}`")),
    }));
    std::thread::spawn(move || {
        events.into_iter().for_each(|event| match role {
            Role::Sender(sender) => sender.handle_event(event),
            Role::Receiver(receiver) => receiver.handle_event(event),
        });
    });
    role
}

/// Ignores the errors of a connection that the other role has closed: the lab stops the sender first.
pub fn until_hang_up(result: io::Result<()>) -> io::Result<()> {
    use ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match result {
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof) => Ok(()),
        other => other,
    }
}

/// Runs `body` on a new thread. An error ends the process.
pub fn spawn_thread(job: &'static Job, body: impl FnOnce() -> io::Result<()> + Send + 'static) {
    std::thread::spawn(move || body().unwrap_or_else(|error| job.lab.failed(error)));
}

/// Waits for the end of the process, which the lab's `stop` causes.
pub fn wait_for_stop() -> ! {
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use netdyno_contender::Lab;
    use serde_json::json;

    use super::*;

    /// The parameters of a role with three messages in `verify`.
    pub(crate) fn job(transport: &str, message_bytes: usize, connections: usize) -> Job {
        let setup = json!({
            "protocol": 1, "workload": "stream", "role": "sender", "seed": 7, "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "transport": transport, "message_bytes": message_bytes, "connections": connections,
                        "verify_messages": 3 },
        });
        Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap())
    }

    #[test]
    fn only_the_end_of_the_peer_is_ignored() {
        for (kind, is_ignored) in [
            (ErrorKind::UnexpectedEof, true),
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::BrokenPipe, true),
            (ErrorKind::InvalidData, false),
        ] {
            assert_eq!(until_hang_up(Err(kind.into())).is_ok(), is_ignored, "{kind}");
        }
    }
}
