//! Executes a request to one object and writes the answer (ECHONET Lite Specification, Part 2, section 4.2).
//!
//! | request | executed | refused, at least in part |
//! |---|---|---|
//! | SetI | no answer | SetI_SNA: 0 bytes for executed writes, the value for refused ones |
//! | SetC | Set_Res: 0 bytes for each | SetC_SNA, as above |
//! | Get | Get_Res: the values | Get_SNA: 0 bytes for what cannot be read |
//! | INF_REQ | INF, to all nodes | INF_SNA to the requester, as Get_SNA |
//! | SetGet | SetGet_Res: as Set_Res, then as Get_Res | SetGet_SNA: as SetC_SNA, then as Get_SNA |
//! | INFC | INFC_Res: 0 bytes for each | |

use crate::address::NodeAddress;
use crate::description::WritePolicy;
use crate::device::event::{Decision, DeviceEvent};
use crate::device::object::Object;
use crate::device::outbox::Outbox;
use crate::error::WriteError;
use crate::esv::Esv;
use crate::frame::{Frame, FrameWriter, Header, Properties, Property};
use crate::property_map::PropertyMap;

/// An answer in the buffer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) bytes: usize,
    pub(super) esv: Esv,
}

/// Whether the application must decide this write.
pub(super) fn needs_decision(object: &Object, property: &Property<'_>) -> bool {
    object.property(property.epc).is_some_and(|stored| {
        stored.access.set && stored.policy == WritePolicy::Ask && stored.allows(property.edt.len())
    })
}

/// An object, and the notifications that a request to it causes.
pub(super) struct Execution<'d> {
    pub(super) object: &'d mut Object,
    /// The index of the object in its device.
    pub(super) place: usize,
    pub(super) outbox: &'d mut Outbox,
    pub(super) from: NodeAddress,
    /// The application's decisions, in the order of the properties that it was asked about.
    pub(super) decisions: &'d [Decision],
}

impl Execution<'_> {
    /// Executes the frame's request and writes the answer. `Ok(None)`: no answer is due.
    ///
    /// Nothing is executed if the buffer is too short for the shortest possible answer.
    pub(super) fn answer(
        mut self,
        frame: &Frame<'_>,
        out: &mut [u8],
    ) -> Result<Option<Answered>, WriteError> {
        let (Some(done), refusal) = (frame.esv.response().or(frame.esv.refusal()), frame.esv.refusal())
        else {
            return Ok(None);
        };
        let header = Header { tid: frame.tid, seoj: self.object.eoj, deoj: frame.seoj, esv: done };
        let mut writer = FrameWriter::new(out, header)?;
        // A refusal of everything is the longest answer to a write, and the shortest to a read.
        let least = frame.properties.as_bytes().len()
            + if frame.esv.has_get_list() { 1 + 2 * frame.get.len() } else { 0 };
        if writer.room() < least {
            return Err(WriteError::NoRoom { room: writer.room(), needed: least });
        }
        let complete = match frame.esv {
            Esv::SetI | Esv::SetC => self.write(frame.properties, &mut writer)?,
            Esv::Get => self.read(frame.properties, &mut writer, false)?,
            Esv::InfReq => self.read(frame.properties, &mut writer, true)?,
            Esv::SetGet => {
                let written = self.write(frame.properties, &mut writer)?;
                writer.get_list()?;
                self.read(frame.get, &mut writer, false)? && written
            }
            _ => {
                for property in frame.properties {
                    writer.property(property.epc, &[])?;
                }
                true
            }
        };
        if complete && frame.esv == Esv::SetI {
            return Ok(None);
        }
        let esv = if complete { done } else { refusal.unwrap_or(done) };
        writer.set_esv(esv);
        Ok(Some(Answered { bytes: writer.finish()?, esv }))
    }

    /// Writes properties; returns whether all were written.
    fn write(
        &mut self,
        properties: Properties<'_>,
        writer: &mut FrameWriter<'_>,
    ) -> Result<bool, WriteError> {
        let mut complete = true;
        for property in properties {
            if self.write_one(&property) {
                writer.property(property.epc, &[])?;
            } else {
                writer.property(property.epc, property.edt)?;
                complete = false;
            }
        }
        Ok(complete)
    }

    fn write_one(&mut self, property: &Property<'_>) -> bool {
        let needs_decision = needs_decision(self.object, property);
        let Some(place) = self.object.place(property.epc) else { return false };
        let stored = &mut self.object.properties[place];
        let accepted = match stored.policy {
            WritePolicy::Accept => stored.access.set && stored.allows(property.edt.len()),
            WritePolicy::Refuse => false,
            WritePolicy::Ask => needs_decision && self.decisions.split_off_first() == Some(&Decision::Accept),
        };
        if !accepted {
            return false;
        }
        if stored.write(property.edt) {
            self.outbox.changed(self.object, self.place, place);
        }
        let (eoj, epc) = (self.object.eoj, property.epc);
        self.outbox.event(DeviceEvent::Written { from: self.from, eoj, epc });
        true
    }

    /// Reads properties; returns whether all were read and fitted. A repeated property is refused from the
    /// second time on, so that a short request does not cause a long answer. `announced`: includes properties
    /// that are only announced.
    fn read(
        &self,
        properties: Properties<'_>,
        writer: &mut FrameWriter<'_>,
        announced: bool,
    ) -> Result<bool, WriteError> {
        let (mut complete, mut left) = (true, properties.len());
        let mut answered = PropertyMap::EMPTY;
        for property in properties {
            left -= 1;
            let is_repeated = answered.contains(property.epc);
            answered.insert(property.epc);
            let readable = self
                .object
                .property(property.epc)
                .filter(|_| !is_repeated)
                .filter(|stored| stored.access.get || announced && stored.access.announce)
                // Each property that follows needs at least two bytes, for its refusal.
                .filter(|stored| 2 + stored.value().len() + 2 * left <= writer.room());
            writer.property(property.epc, readable.map_or(&[], |stored| stored.value()))?;
            complete &= readable.is_some();
        }
        Ok(complete)
    }
}
