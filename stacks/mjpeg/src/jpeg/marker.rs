//! Marker codes of ITU-T T.81, table B.1: the byte after 0xFF.

pub(crate) const TEM: u8 = 0x01;
pub(crate) const SOF0: u8 = 0xc0;
pub(crate) const SOF1: u8 = 0xc1;
pub(crate) const DHT: u8 = 0xc4;
pub(crate) const JPG: u8 = 0xc8;
pub(crate) const DAC: u8 = 0xcc;
pub(crate) const SOF15: u8 = 0xcf;
pub(crate) const RST0: u8 = 0xd0;
pub(crate) const RST7: u8 = 0xd7;
pub(crate) const SOI: u8 = 0xd8;
pub(crate) const EOI: u8 = 0xd9;
pub(crate) const SOS: u8 = 0xda;
pub(crate) const DQT: u8 = 0xdb;
pub(crate) const DNL: u8 = 0xdc;
pub(crate) const DRI: u8 = 0xdd;
pub(crate) const DHP: u8 = 0xde;
pub(crate) const EXP: u8 = 0xdf;
pub(crate) const APP0: u8 = 0xe0;
pub(crate) const APP14: u8 = 0xee;
pub(crate) const APP15: u8 = 0xef;
/// JPG0, the first marker reserved for extensions.
pub(crate) const JPG0: u8 = 0xf0;
/// The frame header of JPEG-LS (ITU-T T.87).
pub(crate) const SOF55: u8 = 0xf7;
pub(crate) const COM: u8 = 0xfe;
