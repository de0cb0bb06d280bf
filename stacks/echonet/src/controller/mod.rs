//! A controller node: reads, writes and receives notifications.

mod config;
mod engine;
mod event;
mod events;
mod interview;
mod job;
mod node;
mod peer;
mod peers;
mod request;
mod search;
mod timers;

pub use config::{ControllerConfig, ControllerLimits, NodeSettings, Search};
pub use engine::{Connect, Controller};
pub use event::{ControllerEvent, ControllerStats};
pub use node::{Instance, Node, NodeState};
pub use request::{Answer, AnswerError, Request, RequestError, RequestId};
