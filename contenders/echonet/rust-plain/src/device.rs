//! A device: objects with their properties and their answers, without sockets.

use crate::frame::{EPC_MIN, Eoj, Frame, List, Writer, esv};

const CODES: usize = 128;
const VALUE_BYTES_MAX: usize = 32;
/// Maximum number of codes in a property map in its shorter form.
const LIST_CODES_MAX: usize = 15;
const BITMAP_BYTES: usize = 17;
const INSTANCE_LIST: u8 = 0xd5;

const NODE_PROFILE: Eoj = [0x0e, 0xf0, 0x01];
const LIGHTING: Eoj = [0x02, 0x91, 0x01];

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
const ANNOUNCED: u8 = 4;

#[derive(Clone, Copy)]
struct Slot {
    /// 0 if the property is absent.
    access: u8,
    length: u8,
    value: [u8; VALUE_BYTES_MAX],
}

impl Slot {
    fn value(&self) -> &[u8] {
        &self.value[..usize::from(self.length)]
    }
}

struct Object {
    eoj: Eoj,
    slots: [Slot; CODES],
}

impl Object {
    fn new(eoj: Eoj, properties: &[(u8, u8, &[u8])]) -> Self {
        let mut object =
            Self { eoj, slots: [Slot { access: 0, length: 0, value: [0; VALUE_BYTES_MAX] }; CODES] };
        for (epc, access, value) in properties {
            object.add(*epc, *access, value);
        }
        // The maps are readable, so all of them exist before the map of readable properties is built.
        let maps = [(0x9d, ANNOUNCED), (0x9e, WRITABLE), (0x9f, READABLE)];
        for (epc, _) in maps {
            object.add(epc, READABLE, &[]);
        }
        for (epc, access) in maps {
            object.fill_map(epc, access);
        }
        object
    }

    fn slot(&self, epc: u8) -> &Slot {
        &self.slots[usize::from(epc - EPC_MIN)]
    }

    fn add(&mut self, epc: u8, access: u8, value: &[u8]) {
        let slot = &mut self.slots[usize::from(epc - EPC_MIN)];
        (slot.access, slot.length) = (access, value.len() as u8);
        slot.value[..value.len()].copy_from_slice(value);
    }

    /// Writes a property map of the codes with this access, as a list or a bitmap.
    fn fill_map(&mut self, map: u8, access: u8) {
        let (mut list, mut bitmap) = ([0; 1 + LIST_CODES_MAX], [0; BITMAP_BYTES]);
        let mut count = 0;
        for code in (0..CODES).filter(|code| self.slots[*code].access & access != 0) {
            if count < LIST_CODES_MAX {
                list[1 + count] = EPC_MIN + code as u8;
            }
            bitmap[1 + code % 16] |= 1 << (code / 16);
            count += 1;
        }
        (list[0], bitmap[0]) = (count as u8, count as u8);
        if count <= LIST_CODES_MAX {
            self.add(map, READABLE, &list[..1 + count]);
        } else {
            self.add(map, READABLE, &bitmap);
        }
    }

    /// Whether a request addresses this object. Instance 0 addresses all instances of a class.
    fn is_meant(&self, deoj: Eoj) -> bool {
        self.eoj[..2] == deoj[..2] && (deoj[2] == 0 || self.eoj[2] == deoj[2])
    }

    /// Writes the values. The answer has PDC 0 for accepted values, and the original value for refused ones. Returns whether all were accepted.
    fn write_all(&mut self, list: List<'_>, answer: &mut Writer) -> bool {
        let mut all = true;
        for property in list.iter() {
            let slot = &mut self.slots[usize::from(property.epc - EPC_MIN)];
            if slot.access & WRITABLE != 0 && property.edt.len() == usize::from(slot.length) {
                slot.value[..property.edt.len()].copy_from_slice(property.edt);
                answer.put(property.epc, &[]);
            } else {
                all = false;
                answer.put(property.epc, property.edt);
            }
        }
        all
    }

    /// Reads the values. The answer has PDC 0 for unreadable values and for those that do not fit. Returns whether there were none of these.
    fn read_all(&self, list: List<'_>, access: u8, answer: &mut Writer) -> bool {
        let mut all = true;
        for (property, others) in list.iter().zip((0..usize::from(list.count)).rev()) {
            let slot = self.slot(property.epc);
            if slot.access & access != 0 && answer.has_room(slot.value().len(), others) {
                answer.put(property.epc, slot.value());
            } else {
                all = false;
                answer.put(property.epc, &[]);
            }
        }
        all
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    Nowhere,
    Sender,
    Group,
}

pub struct Device {
    objects: [Object; 2],
}

impl Device {
    /// A node profile and a mono-functional lighting.
    pub fn new(identification: &[u8]) -> Self {
        let profile: &[(u8, u8, &[u8])] = &[
            (0x80, READABLE | ANNOUNCED, &[0x30]),
            (0x82, READABLE, &[0x01, 0x0d, 0x01, 0x00]), // 1.13, format 1
            (0x83, READABLE, identification),
            (0x8a, READABLE, &[0x00, 0x00, 0x0b]),
            (0xd3, READABLE, &[0x00, 0x00, 0x01]),
            (0xd4, READABLE, &[0x00, 0x02]),
            (INSTANCE_LIST, ANNOUNCED, &[0x01, 0x02, 0x91, 0x01]),
            (0xd6, READABLE, &[0x01, 0x02, 0x91, 0x01]),
            (0xd7, READABLE, &[0x01, 0x02, 0x91]),
        ];
        let lighting: &[(u8, u8, &[u8])] = &[
            (0x80, READABLE | WRITABLE | ANNOUNCED, &[0x30]),
            (0x81, READABLE | WRITABLE | ANNOUNCED, &[0x00]),
            (0x82, READABLE, &[0x00, 0x00, 0x52, 0x00]), // appendix, release R
            (0x88, READABLE | ANNOUNCED, &[0x42]),
            (0x8a, READABLE, &[0x00, 0x00, 0x0b]),
            (0xb6, READABLE | WRITABLE, &[0x41]),
        ];
        Self { objects: [Object::new(NODE_PROFILE, profile), Object::new(LIGHTING, lighting)] }
    }

    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// Writes the answer of an object to a request, and returns its destination.
    pub fn answer(&mut self, number: usize, request: &Frame<'_>, answer: &mut Writer) -> Destination {
        let object = &mut self.objects[number];
        if !object.is_meant(request.deoj) {
            return Destination::Nowhere;
        }
        answer.begin(request.tid, object.eoj, request.seoj, esv::GET_RES);
        let (esv, to) = match request.esv {
            esv::GET => match object.read_all(request.properties, READABLE, answer) {
                true => (esv::GET_RES, Destination::Sender),
                false => (esv::GET_SNA, Destination::Sender),
            },
            esv::INF_REQ => match object.read_all(request.properties, READABLE | ANNOUNCED, answer) {
                true => (esv::INF, Destination::Group),
                false => (esv::INF_SNA, Destination::Sender),
            },
            esv::SETI => match object.write_all(request.properties, answer) {
                true => return Destination::Nowhere,
                false => (esv::SETI_SNA, Destination::Sender),
            },
            esv::SETC => match object.write_all(request.properties, answer) {
                true => (esv::SET_RES, Destination::Sender),
                false => (esv::SETC_SNA, Destination::Sender),
            },
            esv::SETGET => {
                let set = object.write_all(request.properties, answer);
                answer.list();
                let got = object.read_all(request.get, READABLE, answer);
                (if set && got { esv::SETGET_RES } else { esv::SETGET_SNA }, Destination::Sender)
            }
            esv::INFC => {
                for property in request.properties.iter() {
                    answer.put(property.epc, &[]);
                }
                (esv::INFC_RES, Destination::Sender)
            }
            // An answer, or an announcement of another node.
            _ => return Destination::Nowhere,
        };
        answer.set_esv(esv);
        to
    }

    /// Writes the announcement of D5 of the node profile, which is sent at startup.
    pub fn announce(&self, announcement: &mut Writer) {
        let profile = &self.objects[0];
        announcement.begin(1, NODE_PROFILE, NODE_PROFILE, esv::INF);
        announcement.put(INSTANCE_LIST, profile.slot(INSTANCE_LIST).value());
    }
}
