//! Batched UDP and turn-based TCP for Netdyno's stacks. It is the only crate that opens sockets for them.
//!
//! | does | does not |
//! |---|---|
//! | sends up to 64 datagrams per system call (UDP_SEGMENT), or one by one where that is not supported | build datagrams |
//! | receives coalesced datagrams (UDP_GRO, recvmmsg) with their local addresses | parse them |
//! | waits for any number of sockets, TCP connections, a deadline and wake-ups from other threads | start threads, except drivers |
//! | joins multicast groups per interface; sends and receives single datagrams or batches, blocking or not ([`DatagramSocket`]) | implement a discovery protocol |
//! | lets threads and Tokio tasks share one engine, which a driver runs ([`hub`]) | contain an engine |
//! | serves thousands of TCP connections in one thread, on epoll or io_uring ([`tcp`], Linux only) | parse their contents |
//!
//! Send errors of single datagrams are counted, not returned: a protocol core treats an unsent datagram as a
//! lost one.
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
pub mod hub;
mod icmp;
mod interface;
mod options;
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
pub use interface::{Interface, InterfaceError, Network};
pub use poller::{Events, Pollable, Poller, Ready, Waker};
pub use socket::{MAX_SEGMENTS, SocketOptions, UdpSocket, max_segments_for};
pub use wait::enable_precise_waits;
