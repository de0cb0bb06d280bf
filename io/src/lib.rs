//! Batched UDP, and TCP in turns, for Netdyno's stacks: the only crate that opens sockets for them.
//!
//! | does | does not |
//! |---|---|
//! | send up to 64 datagrams by one system call (UDP_SEGMENT), one by one where that is not supported | build datagrams |
//! | receive coalesced datagrams (UDP_GRO, recvmmsg), with the address that they were sent to | parse them |
//! | wait for any number of sockets, TCP connections, a deadline and other threads | own threads or an event loop |
//! | join multicast groups on chosen interfaces; one datagram a call or several, with and without waiting ([`DatagramSocket`]) | know what a group is for |
//! | serve thousands of TCP connections in one thread, on epoll or io_uring ([`tcp`], Linux only) | know what they say |
//!
//! Errors of single sends are counted, not returned: to a protocol core a datagram that could not be sent is a
//! datagram lost.
//!
//! ```
//! use netdyno_io::{Events, Poller, ReceiveBatch, SocketOptions, UdpSocket};
//!
//! # fn main() -> std::io::Result<()> {
//! let (poller, mut events, mut batch) = (Poller::new()?, Events::default(), ReceiveBatch::default());
//! let here = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default())?;
//! let there = UdpSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default())?;
//! poller.add(&there, 7)?;
//!
//! // Three datagrams: 1,000, 1,000 and 500 bytes.
//! here.send(here.local_address(), there.local_address(), &[1; 2500], 1000);
//!
//! poller.wait(&mut events, None)?;
//! assert!(events.iter().all(|ready| ready.key == 7 && ready.readable));
//! there.receive(&mut batch)?;
//! for received in batch.iter() {
//!     assert_eq!(received.remote, here.local_address());
//!     for datagram in received.datagrams.chunks(received.segment_bytes) {
//!         assert!(datagram.len() == 1000 || datagram.len() == 500);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod batch;
mod datagram;
mod interface;
mod poller;
mod sealed;
#[cfg(target_os = "linux")]
mod slice;
mod socket;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(all(feature = "tokio", target_os = "linux"))]
pub mod tokio;
mod wait;

pub use batch::{BUFFER_BYTES, ReceiveBatch, Received};
pub use datagram::{DatagramBatch, DatagramOptions, DatagramSocket, SendBatch};
pub use interface::{Interface, InterfaceError};
pub use poller::{Events, Pollable, Poller, Ready, Waker};
pub use socket::{MAX_SEGMENTS, SocketOptions, UdpSocket, max_segments_of};
pub use wait::wait_exactly;
