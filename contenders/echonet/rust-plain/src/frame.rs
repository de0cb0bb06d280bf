//! Frames of ECHONET Lite, format 1: read in place, written into a buffer.

pub const DATAGRAM_BYTES_MAX: usize = 1500;
const HEADER_BYTES: usize = 12;
/// EPC and PDC.
const PROPERTY_BYTES: usize = 2;
pub const EPC_MIN: u8 = 0x80;

pub type Eoj = [u8; 3];

pub mod esv {
    pub const SETI_SNA: u8 = 0x50;
    pub const SETC_SNA: u8 = 0x51;
    pub const GET_SNA: u8 = 0x52;
    pub const INF_SNA: u8 = 0x53;
    pub const SETGET_SNA: u8 = 0x5e;
    pub const SETI: u8 = 0x60;
    pub const SETC: u8 = 0x61;
    pub const GET: u8 = 0x62;
    pub const INF_REQ: u8 = 0x63;
    pub const SETGET: u8 = 0x6e;
    pub const SET_RES: u8 = 0x71;
    pub const GET_RES: u8 = 0x72;
    pub const INF: u8 = 0x73;
    pub const INFC: u8 = 0x74;
    pub const INFC_RES: u8 = 0x7a;
    pub const SETGET_RES: u8 = 0x7e;
}

#[derive(Clone, Copy)]
pub struct Property<'a> {
    pub epc: u8,
    pub edt: &'a [u8],
}

/// A validated list of properties in a datagram.
#[derive(Clone, Copy, Default)]
pub struct List<'a> {
    pub count: u8,
    bytes: &'a [u8],
}

impl<'a> List<'a> {
    /// Parses a list. Returns it with the following bytes.
    fn take(bytes: &'a [u8], none_is_fine: bool) -> Option<(Self, &'a [u8])> {
        let (&count, bytes) = bytes.split_first()?;
        if count == 0 && !none_is_fine {
            return None;
        }
        let mut rest = bytes;
        for _ in 0..count {
            let (property, behind) = rest.split_first_chunk::<PROPERTY_BYTES>()?;
            if property[0] < EPC_MIN {
                return None;
            }
            rest = behind.get(usize::from(property[1])..)?;
        }
        Some((Self { count, bytes }, rest))
    }

    pub fn iter(self) -> impl Iterator<Item = Property<'a>> {
        let mut rest = self.bytes;
        (0..self.count).map_while(move |_| {
            let (&[epc, pdc], behind) = rest.split_first_chunk()?;
            let (edt, behind) = behind.split_at_checked(usize::from(pdc))?;
            rest = behind;
            Some(Property { epc, edt })
        })
    }
}

pub struct Frame<'a> {
    pub tid: u16,
    pub seoj: Eoj,
    pub deoj: Eoj,
    pub esv: u8,
    /// In a SetGet, the properties to set.
    pub properties: List<'a>,
    /// The properties to get, in a SetGet only.
    pub get: List<'a>,
}

impl<'a> Frame<'a> {
    /// Parses and validates a whole datagram. Bytes after the last property are ignored.
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        let &[0x10, 0x81, t0, t1, s0, s1, s2, d0, d1, d2, esv] = datagram.first_chunk()? else {
            return None;
        };
        if datagram.len() < HEADER_BYTES + PROPERTY_BYTES || !is_known(esv) {
            return None;
        }
        let two = matches!(esv, esv::SETGET | esv::SETGET_RES | esv::SETGET_SNA);
        let (properties, rest) = List::take(&datagram[HEADER_BYTES - 1..], two)?;
        let get = if two { List::take(rest, true)?.0 } else { List::default() };
        let tid = u16::from_be_bytes([t0, t1]);
        Some(Self { tid, seoj: [s0, s1, s2], deoj: [d0, d1, d2], esv, properties, get })
    }
}

fn is_known(esv: u8) -> bool {
    matches!(
        esv,
        esv::SETI_SNA..=esv::INF_SNA
            | esv::SETGET_SNA
            | esv::SETI..=esv::INF_REQ
            | esv::SETGET
            | esv::SET_RES..=esv::INFC
            | esv::INFC_RES
            | esv::SETGET_RES
    )
}

pub struct Writer {
    bytes: [u8; DATAGRAM_BYTES_MAX],
    length: usize,
    /// The offset of the current list's count.
    count_at: usize,
}

impl Writer {
    pub fn new() -> Self {
        Self { bytes: [0; DATAGRAM_BYTES_MAX], length: 0, count_at: 0 }
    }

    pub fn begin(&mut self, tid: u16, seoj: Eoj, deoj: Eoj, esv: u8) {
        let [t0, t1] = tid.to_be_bytes();
        self.bytes[..2].copy_from_slice(&[0x10, 0x81]);
        self.bytes[2..4].copy_from_slice(&[t0, t1]);
        self.bytes[4..7].copy_from_slice(&seoj);
        self.bytes[7..10].copy_from_slice(&deoj);
        self.bytes[10] = esv;
        self.length = HEADER_BYTES - 1;
        self.list();
    }

    /// Starts the second list of a SetGet.
    pub fn list(&mut self) {
        self.count_at = self.length;
        self.bytes[self.length] = 0;
        self.length += 1;
    }

    /// Whether there is space for a value, `others` further properties without a value, and the count of a second list.
    pub fn has_room(&self, pdc: usize, others: usize) -> bool {
        self.length + PROPERTY_BYTES + pdc + others * PROPERTY_BYTES < DATAGRAM_BYTES_MAX
    }

    pub fn put(&mut self, epc: u8, edt: &[u8]) {
        let to = &mut self.bytes[self.length..][..PROPERTY_BYTES + edt.len()];
        (to[0], to[1]) = (epc, edt.len() as u8);
        to[PROPERTY_BYTES..].copy_from_slice(edt);
        self.length += PROPERTY_BYTES + edt.len();
        self.bytes[self.count_at] += 1;
    }

    pub fn set_esv(&mut self, esv: u8) {
        self.bytes[10] = esv;
    }

    pub fn datagram(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET_TWO: &[u8] = &[0x10, 0x81, 0, 7, 5, 0xff, 1, 0x0e, 0xf0, 1, 0x62, 2, 0x80, 0, 0x9f, 3, 1, 2, 3];

    #[test]
    fn a_written_frame_is_parsed_unchanged() {
        let mut writer = Writer::new();
        writer.begin(7, [5, 0xff, 1], [0x0e, 0xf0, 1], esv::GET);
        writer.put(0x80, &[]);
        writer.put(0x9f, &[1, 2, 3]);
        assert_eq!(writer.datagram(), GET_TWO);
        let read: Vec<_> = Frame::parse(GET_TWO)
            .map(|frame| frame.properties.iter().map(|p| (p.epc, p.edt.to_vec())).collect())
            .unwrap_or_default();
        assert_eq!(read, [(0x80, vec![]), (0x9f, vec![1, 2, 3])]);
    }

    #[test]
    fn truncated_and_invalid_frames_are_rejected() {
        for length in 0..GET_TWO.len() {
            assert!(Frame::parse(&GET_TWO[..length]).is_none(), "{length}");
        }
        assert!(Frame::parse(&[GET_TWO, &[0xff]].concat()).is_some(), "bytes after the last property are ignored");
        // (byte, value): EHD, an unknown ESV, OPC 0 and 3, an EPC below 80, a PDC past the end.
        for (at, byte) in [(0, 0x11), (1, 0x82), (10, 0x64), (11, 0), (11, 3), (12, 0x7f), (15, 4)] {
            let mut other = GET_TWO.to_vec();
            other[at] = byte;
            assert!(Frame::parse(&other).is_none(), "{at} {byte}");
        }
        let truncated = [0x10, 0x81, 0, 1, 5, 0xff, 1, 0x0e, 0xf0, 1, 0x6e, 0];
        assert!(Frame::parse(&truncated).is_none(), "a SetGet without the second list");
    }
}
