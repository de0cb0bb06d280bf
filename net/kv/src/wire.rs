//! The connections of clients; without TLS the sockets themselves.

#[cfg(feature = "tls")]
pub(crate) use crate::tls::Wire;
#[cfg(not(feature = "tls"))]
pub(crate) use netdyno_io::tcp::TcpReactor as Wire;
