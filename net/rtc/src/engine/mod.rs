//! All connections of an endpoint, without waiting: one call of [`Engine::turn`] does what there is to do.

mod budget;
mod connection;
mod gather;
mod inbound;
mod listen;
mod moved;
mod names;
mod outbound;
mod ports;
mod queue;
mod refusals;
mod routes;
mod runs;
mod slot;
mod state;
mod steering;
mod strangers;
#[cfg(test)]
mod support;
mod tcp;
mod timers;
mod turn;

pub use connection::{Connection, Handler};
pub use refusals::Refusals;
pub use slot::{ConnectionId, Port};
pub(crate) use state::Engine;
