//! Restricts [`Pollable`](crate::Pollable) to the sockets of this crate.

use std::sync::Arc;

pub trait Sealed {
    /// The socket itself.
    fn inner(&self) -> &Arc<std::net::UdpSocket>;
}
