//! The parts of a baseline JPEG file that affect decoding (ITU-T T.81, Annex B), and its canonical form.

use std::ops::Range;

/// Maximum number of components of a picture.
const COMPONENTS_MAX: usize = 4;

/// The headers of a file, and the position of its scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture<'a> {
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// Sampling factors and quantisation table number of each component.
    components: Vec<(u8, u8)>,
    quantisation: [Option<[u16; 64]>; 4],
    huffman: [Option<&'a [u8]>; 4],
    restart: u16,
    /// The offset of the entropy-coded data.
    pub scan_at: usize,
}

impl<'a> Picture<'a> {
    /// Parses the headers of a file, up to its scan.
    ///
    /// # Errors
    /// Returns a description of the first fault.
    pub fn parse(jpeg: &'a [u8]) -> Result<Self, String> {
        if !jpeg.starts_with(&[0xff, 0xd8]) {
            return Err("no SOI at the beginning".to_owned());
        }
        let mut picture = Self {
            width: 0,
            height: 0,
            components: Vec::new(),
            quantisation: [None; 4],
            huffman: [None; 4],
            restart: 0,
            scan_at: 0,
        };
        let mut at = 2;
        loop {
            // Any number of fill bytes may precede a marker.
            while jpeg.get(at..at + 2) == Some(&[0xff, 0xff]) {
                at += 1;
            }
            let Some(&[0xff, marker, high, low]) = jpeg.get(at..at + 4) else {
                return Err(format!("no marker at byte {at}"));
            };
            let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
            let segment =
                jpeg.get(at + 4..end).ok_or_else(|| format!("segment {marker:02x} is truncated"))?;
            at = end;
            let read = match marker {
                0xdb => picture.quantisation(segment),
                0xc4 => picture.huffman(segment),
                0xc0 | 0xc1 => picture.frame(segment),
                0xc2..=0xcf => {
                    return Err(format!("coding process {marker:02x} is not sequential with Huffman codes"));
                }
                0xdd => segment.first_chunk().map(|&interval| picture.restart = u16::from_be_bytes(interval)),
                0xda if !picture.is_usual_scan(segment) => return Err("unsupported scan header".to_owned()),
                0xda => {
                    picture.scan_at = at;
                    return Ok(picture);
                }
                _ => Some(()),
            };
            read.ok_or_else(|| format!("segment {marker:02x} is malformed"))?;
        }
    }

    /// Writes the canonical form to `out`, replacing its content. `jpeg` is the parsed file. Returns `None` if a quantisation
    /// table is missing.
    pub fn canonical(&self, jpeg: &[u8], out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        out.extend(self.width.to_be_bytes());
        out.extend(self.height.to_be_bytes());
        out.push(self.components.len() as u8);
        for &(sampling, table) in &self.components {
            out.push(sampling);
            let table = self.quantisation.get(usize::from(table))?.as_ref()?;
            out.extend(table.iter().flat_map(|value| value.to_be_bytes()));
        }
        out.extend(self.restart.to_be_bytes());
        for (own, default) in self.huffman.iter().zip(DEFAULT_HUFFMAN) {
            out.extend(own.unwrap_or(default));
        }
        out.extend(&jpeg[self.scan(jpeg)]);
        Some(())
    }

    /// Returns the range of the entropy-coded data, including restart markers. It ends at the first other marker or its fill bytes.
    pub fn scan(&self, jpeg: &[u8]) -> Range<usize> {
        let mut from = self.scan_at;
        while let Some(found) = jpeg[from..].iter().position(|&byte| byte == 0xff) {
            let at = from + found;
            let rest = &jpeg[at..];
            let fill = rest.iter().position(|&byte| byte != 0xff).unwrap_or(rest.len());
            if !matches!(rest.get(fill), Some(0x00 | 0xd0..=0xd7)) {
                return self.scan_at..at;
            }
            from = at + fill + 1;
        }
        self.scan_at..jpeg.len()
    }

    fn quantisation(&mut self, mut segment: &[u8]) -> Option<()> {
        while let [head, rest @ ..] = segment {
            let wide = head >> 4 == 1;
            let (table, rest) = rest.split_at_checked(if wide { 128 } else { 64 })?;
            let value = |i: usize| match wide {
                true => u16::from_be_bytes([table[2 * i], table[2 * i + 1]]),
                false => u16::from(table[i]),
            };
            *self.quantisation.get_mut(usize::from(head & 0x0f))? = Some(std::array::from_fn(value));
            segment = rest;
        }
        Some(())
    }

    fn huffman(&mut self, mut segment: &'a [u8]) -> Option<()> {
        while let [head, rest @ ..] = segment {
            let length = 16 + rest.get(..16)?.iter().map(|&count| usize::from(count)).sum::<usize>();
            let (table, rest) = rest.split_at_checked(length)?;
            // The order is DC 0, AC 0, DC 1, AC 1.
            *self.huffman.get_mut(usize::from(head & 0x0f) * 2 + usize::from(head >> 4))? = Some(table);
            segment = rest;
        }
        Some(())
    }

    fn frame(&mut self, segment: &[u8]) -> Option<()> {
        let [8, h1, h0, w1, w0, count, components @ ..] = segment else { return None };
        let usual = components.len() == 3 * usize::from(*count)
            && (1..=COMPONENTS_MAX).contains(&usize::from(*count));
        self.height = u16::from_be_bytes([*h1, *h0]);
        self.width = u16::from_be_bytes([*w1, *w0]);
        self.components = components.chunks_exact(3).map(|component| (component[1], component[2])).collect();
        usual.then_some(())
    }

    /// Whether the scan has all components, the first with the tables 0 and the others with the tables 1, as RFC 2435 requires.
    fn is_usual_scan(&self, segment: &[u8]) -> bool {
        let [count, rest @ ..] = segment else { return false };
        let (count, components) = (usize::from(*count), self.components.len());
        count == components
            && count > 0
            && rest.len() == 2 * count + 3
            && rest
                .chunks_exact(2)
                .take(count)
                .enumerate()
                .all(|(i, c)| c[1] == if i == 0 { 0x00 } else { 0x11 })
    }
}

/// ITU-T T.81, K.3: DC 0, AC 0, DC 1, AC 1.
const DEFAULT_HUFFMAN: [&[u8]; 4] = [
    b"\x00\x01\x05\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b",
    b"\x00\x02\x01\x03\x03\x02\x04\x03\x05\x05\x04\x04\x00\x00\x01\x7d\x01\x02\x03\x00\x04\x11\x05\x12\x21\x31\x41\x06\x13\x51\x61\x07\
      \x22\x71\x14\x32\x81\x91\xa1\x08\x23\x42\xb1\xc1\x15\x52\xd1\xf0\x24\x33\x62\x72\x82\x09\x0a\x16\x17\x18\x19\x1a\x25\x26\x27\x28\
      \x29\x2a\x34\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\
      \x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x83\x84\x85\x86\x87\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\
      \xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2\
      \xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa",
    b"\x00\x03\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b",
    b"\x00\x02\x01\x02\x04\x04\x03\x04\x07\x05\x04\x04\x00\x01\x02\x77\x00\x01\x02\x03\x11\x04\x05\x21\x31\x06\x12\x41\x51\x07\x61\x71\
      \x13\x22\x32\x81\x08\x14\x42\x91\xa1\xb1\xc1\x09\x23\x33\x52\xf0\x15\x62\x72\xd1\x0a\x16\x24\x34\xe1\x25\xf1\x17\x18\x19\x1a\x26\
      \x27\x28\x29\x2a\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\
      \x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\
      \xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\
      \xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa",
];
