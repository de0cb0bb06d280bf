//! ECHONET Lite as a core without I/O: frames, a device, a controller, and the meaning of common devices'
//! values.
//!
//! | does | does not |
//! |---|---|
//! | parse and write frames and property maps without a copy or an allocation, also without an operating system | the arbitrary message format (EHD2 0x82): recognised, not parsed |
//! | act as a node ([`Device`]): all services, instance 0, property maps, announcements, writes that the application decides | open sockets, read clocks, draw random numbers, spawn threads, lock |
//! | discover, read and write other nodes and receive their notifications ([`Controller`]): retries, pauses, splitting of refused requests | follow a node whose address changes: compare [`Node::identification`] |
//! | convert values to text and back for the node profile, the super class and common classes ([`Database`]) | all classes and manufacturer-specific properties: load the consortium's files (feature `mra`), or a table |
//! | datagrams over IPv4 and IPv6; messages in a TCP stream ([`Messages`]), answers over the connection of the request, requests over a connection on demand ([`NodeSettings::tcp`]) | searches, announcements and notifications over TCP: these are datagrams |
//!
//! A caller passes in messages and the time, and sends the returned messages. In this example, the caller is
//! the network between two nodes:
//!
//! ```
//! use std::{net::Ipv4Addr, time::Instant};
//! use netdyno_echonet_core::{
//!     Access, ClassCode, Controller, ControllerConfig, ControllerEvent, Description, Device, Epc, NodeAddress,
//!     ObjectDescription, Request, Source,
//! };
//!
//! let maker = [0x00, 0x00, 0x0B];
//! let light = ClassCode(0x0291).instance(1);
//! let description = Description::new(maker, *b"a unique numb")
//!     .object(ObjectDescription::device(light, maker).property(Epc(0xB0), [80], Access::GET_SET));
//! let mut device = Device::new(&description)?;
//! let mut controller = Controller::new(ControllerConfig::new(maker, *b"another numbr"))?;
//!
//! let node: NodeAddress = std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, 7)).into();
//! let ours: NodeAddress = std::net::IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)).into();
//! let (now, mut there, mut back) = (Instant::now(), [0; 1500], [0; 1500]);
//! controller.request(now, node, light, Request::Get(&[Epc(0xB0)]))?;
//! while let Some(sent) = controller.poll_transmit(now, &mut there) {
//!     if let Some(answer) = device.handle(now, &there[..sent.bytes], Source::unicast(ours), &mut back) {
//!         controller.handle(now, &back[..answer.bytes], Source::unicast(node), &mut there);
//!     }
//! }
//! while let Some(event) = controller.poll_event() {
//!     if let ControllerEvent::Answer { result, .. } = event {
//!         assert_eq!(result?.get(Epc(0xB0)), Some(&[80][..]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sections and chapters are those of the ECHONET Lite Specification, Part 2, version 1.13, unless another document is named.
//!
//! | feature | what it adds |
//! |---|---|
//! | `std` (default) | [`Device`], [`Controller`], [`Description`], [`Database`]; without it only the codec, which needs no allocator |
//! | `description` | descriptions of devices as TOML files |
//! | `mra` | the consortium's Machine Readable Appendix |
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "std")]
mod controller;
#[cfg(feature = "std")]
mod database;
#[cfg(feature = "std")]
mod description;
#[cfg(feature = "std")]
mod device;
mod eoj;
mod epc;
mod error;
mod esv;
mod frame;
#[cfg(feature = "std")]
mod hash;
mod hex;
mod limits;
mod property_map;
mod tid;

pub use address::{ConnectionId, Destination, NodeAddress, Source, Transmit};
#[cfg(feature = "std")]
pub use controller::{
    Answer, AnswerError, Connect, Controller, ControllerConfig, ControllerEvent, ControllerLimits,
    ControllerStats, Instance, Node, NodeSettings, NodeState, Request, RequestError, RequestId, Search,
};
#[cfg(feature = "std")]
pub use database::{
    BitField, Class, Database, Definition, EncodeError, Format, Kind, Number, Quantity, Rule, TableError,
    Value, manufacturer_name,
};
#[cfg(feature = "mra")]
pub use database::{Mra, MraError};
#[cfg(feature = "description")]
pub use description::DescriptionFileError;
#[cfg(feature = "std")]
pub use description::{
    Access, Description, DescriptionError, ObjectDescription, PropertyDescription, WritePolicy,
};
#[cfg(feature = "std")]
pub use device::{
    AbuseKind, Decision, Device, DeviceConfig, DeviceEvent, DeviceStats, SetError, SourceLimit, WriteId,
};
pub use eoj::{ClassCode, Eoj};
pub use epc::Epc;
pub use error::{FrameError, PropertyMapError, WriteError};
pub use esv::Esv;
pub use frame::{Frame, FrameWriter, Header, Messages, Properties, PropertiesIter, Property};
pub use hex::CodeError;
#[cfg(feature = "std")]
pub use limits::TCP_AGAIN;
pub use limits::{MESSAGE_BYTES_MAX, MULTICAST_V4, MULTICAST_V6, PORT};
pub use property_map::{EncodedPropertyMap, PropertyMap, PropertyMapIter};
pub use tid::Tid;
