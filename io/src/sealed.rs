//! What all sockets of this crate have, and nobody else can have: a poller waits for nothing but them.

use std::sync::Arc;

pub trait Sealed {
    /// The socket itself.
    fn inner(&self) -> &Arc<std::net::UdpSocket>;
}
