//! Limits.

use core::net::{Ipv4Addr, Ipv6Addr};

/// The destination port of every datagram and TCP connection; the source port is free (Part 2, section 1.2).
pub const PORT: u16 = 3610;
/// The IPv4 multicast group of all nodes.
pub const MULTICAST_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 23, 0);
/// The IPv6 multicast group of all nodes: all nodes of the link.
pub const MULTICAST_V6: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Length of the longest message in bytes: two lists of 255 properties of 255 bytes. Only TCP can carry it.
pub const MESSAGE_BYTES_MAX: usize = HEADER_BYTES + 2 * (1 + PROPERTIES_MAX * (2 + EDT_BYTES_MAX));

/// Bytes of a datagram that is not fragmented on Ethernet: 1,500 less the headers of IPv6 and UDP.
#[cfg(feature = "std")]
pub(crate) const DATAGRAM_BYTES: usize = 1452;
/// Bytes of EHD1, EHD2, TID, SEOJ, DEOJ and ESV.
pub(crate) const HEADER_BYTES: usize = 11;
/// Properties of one list, since OPC is a byte.
pub(crate) const PROPERTIES_MAX: usize = 255;
/// Bytes of a property's value, since PDC is a byte.
pub(crate) const EDT_BYTES_MAX: usize = 255;
/// Bytes of a property map, the longer form.
pub(crate) const MAP_BYTES: usize = 17;
/// Codes of a property map in list form; longer maps are bitmaps.
pub(crate) const MAP_LIST_MAX: usize = 15;
/// Instances of one list (D5, D6), and classes of one list (D7), as the node profile allows.
#[cfg(feature = "std")]
pub(crate) const LISTED_INSTANCES_MAX: usize = 84;
#[cfg(feature = "std")]
pub(crate) const LISTED_CLASSES_MAX: usize = 8;
/// The highest instance of a class.
#[cfg(feature = "std")]
pub(crate) const INSTANCE_MAX: u8 = 0x7F;
/// Senders of which a device counts the messages, to report floods.
#[cfg(feature = "std")]
pub(crate) const COUNTED_SENDERS: usize = 8;
/// How long after its last datagram another source counts as present, for [`SourceLimit`](crate::SourceLimit):
/// longer than the usual polling intervals of controllers, which are minutes.
#[cfg(feature = "std")]
pub(crate) const OTHER_SOURCE_AGE_MAX: core::time::Duration = core::time::Duration::from_secs(600);
/// The time after a report of abuse in which no other of its kind is reported.
#[cfg(feature = "std")]
pub(crate) const ABUSE_INTERVAL: core::time::Duration = core::time::Duration::from_secs(1);
/// Multicast messages that a device remembers, to recognise duplicates from another interface.
#[cfg(feature = "std")]
pub(crate) const REMEMBERED_MULTICASTS: usize = 8;
/// Requests in progress to one node, whatever its settings: an answer searches them linearly.
#[cfg(feature = "std")]
pub(crate) const PARALLEL_MAX: usize = 128;
/// How long datagrams are used, if the settings allow it, after a failed connection to a node, before TCP is
/// tried again.
#[cfg(feature = "std")]
pub const TCP_AGAIN: core::time::Duration = core::time::Duration::from_secs(600);
/// Notifications that are remembered of each node, to recognise duplicates from another interface.
#[cfg(feature = "std")]
pub(crate) const REMEMBERED_NOTIFICATIONS: usize = 4;
/// Finished requests whose memory is kept for reuse.
#[cfg(feature = "std")]
pub(crate) const SPARE_JOBS: usize = 64;
/// Repetitions of a search, whatever the settings.
#[cfg(feature = "std")]
pub(crate) const SEARCH_REPEATS_MAX: u8 = 16;
/// Lost nodes that are examined for eviction when there are too many nodes.
#[cfg(feature = "std")]
pub(crate) const FORGOTTEN_LOOKED_AT: usize = 16;
/// Nesting depth of formats: records of lists of records.
#[cfg(feature = "std")]
pub(crate) const KIND_DEPTH_MAX: usize = 8;
/// Bytes of one file of the Machine Readable Appendix; the largest has about a tenth of it.
#[cfg(feature = "mra")]
pub(crate) const MRA_BYTES_MAX: usize = 4 << 20;
/// Bytes of a description in text form.
#[cfg(feature = "description")]
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 1 << 20;
/// The maximum factor of a number: a product with 32 bits stays below 64.
#[cfg(feature = "std")]
pub(crate) const FACTOR_MAX: u32 = 1_000_000;
