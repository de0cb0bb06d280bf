//! ECHONET Lite as a core without I/O.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "std")]
mod controller;
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

pub use address::{Destination, NodeAddress, Source, Transmit};
#[cfg(feature = "std")]
pub use controller::{
    Answer, AnswerError, Controller, ControllerConfig, ControllerEvent, ControllerLimits, ControllerStats,
    Instance, Node, NodeSettings, NodeState, Request, RequestError, RequestId, Search,
};
#[cfg(feature = "std")]
pub use description::{
    Access, Description, DescriptionError, ObjectDescription, PropertyDescription, WritePolicy,
};
#[cfg(feature = "std")]
pub use device::{Decision, Device, DeviceConfig, DeviceEvent, DeviceStats, SetError, WriteId};
pub use eoj::{ClassCode, Eoj};
pub use epc::Epc;
pub use error::{CodeError, FrameError, PropertyMapError, WriteError};
pub use esv::Esv;
pub use frame::{Frame, FrameWriter, Header, Properties, PropertiesIter, Property};
pub use limits::{MULTICAST_V4, MULTICAST_V6, PORT};
pub use property_map::{EncodedPropertyMap, PropertyMap, PropertyMapIter};
pub use tid::Tid;
