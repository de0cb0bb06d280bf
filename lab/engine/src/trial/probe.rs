//! A role that receives unusual messages, and its replies.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::TrialRole;
use netdyno_lab_arena::{AgentEvent, Arena, ArenaError};
use netdyno_lab_protocol::{ContenderMessage, parse_contender_line};

/// The replies of a probed role.
#[derive(Debug, Default)]
pub struct Probed {
    /// The messages, in order, or why a line is invalid.
    pub messages: Vec<Result<ContenderMessage, String>>,
    /// Exit code, if it exited.
    pub code: Option<i32>,
    /// How it ended; none if it did not end in time.
    pub ended: Option<String>,
    /// Its stderr.
    pub stderr: String,
}

/// Starts a role, sends `lines`, and collects its replies until it ends or the time limit expires. `then` is sent
/// once it is ready.
pub fn probe(
    arena: &Arena,
    role: &TrialRole,
    lines: &[String],
    then: Option<&str>,
    limit: Duration,
) -> Result<Probed, ArenaError> {
    let (sender, events) = channel();
    let mut process = arena.launch(role.launch.clone(), sender)?;
    for line in lines {
        // A role that does not read is detected by its replies.
        let _ = process.send_line(line);
    }
    let deadline = Instant::now() + limit;
    let mut probed = Probed::default();
    while let Ok((_, event)) = events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        match event {
            AgentEvent::Line { text } => {
                let message = parse_contender_line(&text);
                if let (Ok(ContenderMessage::Ready { .. }), Some(line)) = (&message, then) {
                    let _ = process.send_line(line);
                }
                probed.messages.push(message);
            }
            AgentEvent::Exited(exit) => {
                probed.code = exit.code;
                probed.ended = Some(exit.reason);
                probed.stderr = exit.stderr;
                break;
            }
            AgentEvent::Failed { reason } | AgentEvent::Flood { reason } => {
                probed.ended = Some(reason);
                break;
            }
            AgentEvent::Started { .. } | AgentEvent::Meter { .. } | AgentEvent::Frozen { .. } => {}
        }
    }
    Ok(probed)
}
