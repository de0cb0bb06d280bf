//! Where one JPEG file ends and the next begins, in a stream of them.
//!
//! | does | does not |
//! |---|---|
//! | walk from segment to segment, so that thumbnails within them do not count | look into segments: whoever sends pictures does |
//! | find the end of a picture whose end (EOI) is missing, by the next one's beginning | wait, or read |

use memchr::{memchr, memmem};

use crate::limits::MAX_PICTURE_BYTES;

const SOI: [u8; 2] = [0xff, 0xd8];

/// What bytes have at their front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// A picture of so many bytes.
    Picture(usize),
    /// The beginning of one: more bytes are needed.
    Part,
    /// So many bytes before a picture that are none of it. Zero: there are no bytes.
    Other(usize),
    /// A picture longer than [`MAX_PICTURE_BYTES`].
    TooLong,
}

/// Walks a picture whose bytes come little by little. No byte of it is looked at twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Walk {
    /// How far it has come: to the next marker, or within the data of a scan.
    at: usize,
    in_scan: bool,
}

impl Walk {
    /// Looks on. `bytes` begins with what it began with before, until it was [`Front::Picture`] or [`Front::Other`]: then the walk begins
    /// anew, behind that.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> Front {
        if self.at == 0 {
            if !bytes.starts_with(&SOI) {
                let begin = memmem::find(bytes, &SOI);
                // A picture may begin with the last byte.
                let kept = usize::from(bytes.last() == Some(&SOI[0]));
                return match begin.unwrap_or(bytes.len() - kept) {
                    0 if kept == 1 => Front::Part,
                    other => Front::Other(other),
                };
            }
            self.at = SOI.len();
        }
        match self.end(bytes) {
            Some(end) => {
                *self = Self::default();
                Front::Picture(end)
            }
            None if bytes.len() > MAX_PICTURE_BYTES => Front::TooLong,
            None => Front::Part,
        }
    }

    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        loop {
            if self.in_scan {
                match memchr(0xff, bytes.get(self.at..)?) {
                    Some(found) => self.at += found,
                    None => {
                        self.at = bytes.len();
                        return None;
                    }
                }
            }
            let fill = bytes.get(self.at..)?.iter().take_while(|byte| **byte == 0xff).count();
            let code_at = self.at + fill;
            let code = *bytes.get(code_at)?;
            match code {
                0xd9 if fill > 0 => return Some(code_at + 1),
                // The end is missing.
                0xd8 if fill > 0 => return Some(code_at - 1),
                // No marker: what sends it finds out; here it is part of the picture.
                _ if fill == 0 => self.in_scan = true,
                // Stuffed bytes, restart markers and TEM stand alone.
                0x00 | 0x01 | 0xd0..=0xd7 => self.at = code_at + 1,
                _ => {
                    let length = bytes.get(code_at + 1..code_at + 3)?;
                    self.at = code_at + 1 + usize::from(u16::from_be_bytes([length[0], length[1]]));
                    self.in_scan = code == 0xda;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THUMBNAIL: &[u8] = &[0xff, 0xe1, 0, 6, 0xff, 0xd8, 0xff, 0xd9];
    const SCAN: &[u8] = &[0xff, 0xda, 0, 3, 9, 1, 2, 0xff, 0, 3, 0xff, 0xd0, 4, 0xff, 0xff, 0xd1];

    fn picture() -> Vec<u8> {
        [&SOI, THUMBNAIL, SCAN, &[0xff, 0xd9]].concat()
    }

    /// What is found by a walk that sees one byte more each time: lengths of pictures, and of what is none.
    fn walked(bytes: &[u8]) -> (Vec<Front>, usize) {
        let (mut found, mut begin, mut walk) = (Vec::new(), 0, Walk::default());
        for end in 1..=bytes.len() {
            match walk.look(&bytes[begin..end]) {
                Front::Part => {}
                front @ (Front::Picture(length) | Front::Other(length)) => {
                    found.push(front);
                    begin += length;
                }
                Front::TooLong => panic!("none is"),
            }
        }
        (found, bytes.len() - begin)
    }

    #[test]
    fn pictures_are_told_apart_however_they_come() {
        let picture = picture();
        let length = picture.len();
        let (found, left) = walked(&[&picture[..], &picture].concat());
        assert_eq!((found, left), (vec![Front::Picture(length); 2], 0));

        // Padding, and the first byte of a marker that is none.
        let (found, left) = walked(&[&picture[..], &[0, 0xff, 0], &picture].concat());
        let other = found
            .iter()
            .filter_map(|front| if let Front::Other(length) = front { Some(*length) } else { None });
        assert_eq!((other.sum::<usize>(), left), (3, 0));
        assert_eq!(found.iter().filter(|front| **front == Front::Picture(length)).count(), 2);

        // No end: the next one's beginning is it. The last has none at all.
        let cut = &picture[..length - 2];
        let (found, left) = walked(&[cut, cut].concat());
        assert_eq!((found, left), (vec![Front::Picture(length - 2)], length - 2));
    }

    #[test]
    fn all_at_once_is_the_same() {
        let picture = picture();
        let bytes = [&picture[..], &[0; 5], &picture].concat();
        let mut walk = Walk::default();
        assert_eq!(walk.look(&bytes), Front::Picture(picture.len()));
        assert_eq!(walk.look(&bytes[picture.len()..]), Front::Other(5));
        assert_eq!(walk.look(&bytes[picture.len() + 5..]), Front::Picture(picture.len()));
        assert_eq!(walk.look(&[]), Front::Other(0));
    }

    #[test]
    fn a_picture_without_end_is_too_long() {
        let mut bytes = [&SOI, SCAN].concat();
        bytes.resize(MAX_PICTURE_BYTES + 1, 7);
        assert_eq!(Walk::default().look(&bytes), Front::TooLong);
    }
}
