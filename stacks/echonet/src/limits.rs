//! Everything has a limit, and every limit a name.

use core::net::{Ipv4Addr, Ipv6Addr};

/// The port that every datagram goes to, and that TCP connections are made to; where it comes from is free (Part 2,
/// section 1.2).
pub const PORT: u16 = 3610;
/// The group of all nodes, IPv4.
pub const MULTICAST_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 23, 0);
/// The group of all nodes, IPv6: all nodes of the link.
pub const MULTICAST_V6: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Bytes of the longest message: two lists of 255 properties of 255 bytes. Only TCP carries one so long.
pub const MESSAGE_BYTES_MAX: usize = HEADER_BYTES + 2 * (1 + PROPERTIES_MAX * (2 + EDT_BYTES_MAX));

/// Bytes of EHD1, EHD2, TID, SEOJ, DEOJ and ESV.
pub(crate) const HEADER_BYTES: usize = 11;
/// Properties of one list: OPC is a byte.
pub(crate) const PROPERTIES_MAX: usize = 255;
/// Bytes of a property's value: PDC is a byte.
pub(crate) const EDT_BYTES_MAX: usize = 255;
/// Bytes of a property map, the longer form.
pub(crate) const MAP_BYTES: usize = 17;
/// Codes of a property map that is a list; more are a bitmap.
pub(crate) const MAP_LIST_MAX: usize = 15;
/// Instances of one list (D5, D6), and classes of one (D7): what the node profile allows.
#[cfg(feature = "std")]
pub(crate) const LISTED_INSTANCES_MAX: usize = 84;
#[cfg(feature = "std")]
pub(crate) const LISTED_CLASSES_MAX: usize = 8;
/// The highest instance of a class.
#[cfg(feature = "std")]
pub(crate) const INSTANCE_MAX: u8 = 0x7F;
/// Messages to all nodes that a device remembers, to know one that comes again by another interface.
#[cfg(feature = "std")]
pub(crate) const REMEMBERED_MULTICASTS: usize = 8;
/// Requests under way to one node, whatever its settings say: they are looked through for each answer.
#[cfg(feature = "std")]
pub(crate) const PARALLEL_MAX: usize = 128;
/// How long a node that could not be connected to is asked by datagrams, where its settings say so, before a connection is tried
/// again.
#[cfg(feature = "std")]
pub const TCP_AGAIN: core::time::Duration = core::time::Duration::from_secs(600);
/// Notifications that are remembered of each node, to know one that comes again by another interface.
#[cfg(feature = "std")]
pub(crate) const REMEMBERED_NOTIFICATIONS: usize = 4;
/// Requests that are over and whose memory is kept for the next ones.
#[cfg(feature = "std")]
pub(crate) const SPARE_JOBS: usize = 64;
/// How often a search is sent, whatever the settings say.
#[cfg(feature = "std")]
pub(crate) const SEARCH_REPEATS_MAX: u8 = 16;
/// Lost nodes that are looked at for one to forget, when there are too many nodes.
#[cfg(feature = "std")]
pub(crate) const FORGOTTEN_LOOKED_AT: usize = 16;
/// Kinds of values within kinds: records of lists of records.
#[cfg(feature = "std")]
pub(crate) const KIND_DEPTH_MAX: usize = 8;
/// Bytes of one file of the Machine Readable Appendix; the largest has about a tenth of it.
#[cfg(feature = "mra")]
pub(crate) const MRA_BYTES_MAX: usize = 4 << 20;
/// Bytes of a description that is text.
#[cfg(feature = "description")]
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 1 << 20;
/// What a number may be multiplied with: with 32 bits it stays below 64.
#[cfg(feature = "std")]
pub(crate) const FACTOR_MAX: u32 = 1_000_000;
