//! One role asked one odd thing: what does it answer, and how does it end?

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::RoleSpec;
use netdyno_lab_arena::{AgentEvent, Arena, ArenaError};
use netdyno_lab_protocol::{ContenderMessage, parse_contender_line};

/// What a probe saw.
#[derive(Debug, Default)]
pub struct Probed {
    /// Messages, in order; what is no message, in words.
    pub messages: Vec<Result<ContenderMessage, String>>,
    /// Exit code, if it ended by itself.
    pub code: Option<i32>,
    /// How it ended, in words; none if it did not end in time.
    pub ended: Option<String>,
    /// Its stderr.
    pub stderr: String,
}

/// Starts a role, sends `lines`, and takes what it says until it ends or time is up. `then` is sent once it is ready.
///
/// # Errors
/// When the role could not be started.
pub fn probe(
    arena: &Arena,
    role: &RoleSpec,
    lines: &[String],
    then: Option<&str>,
    limit: Duration,
) -> Result<Probed, ArenaError> {
    let (sender, events) = channel();
    let mut process = arena.launch(role.launch.clone(), sender)?;
    for line in lines {
        // One that does not read shows in what it answers.
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
