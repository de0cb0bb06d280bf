//! The canonical form of a JPEG file, as specified by the contract of the `mjpeg` workload. It supports only the files of this
//! program's encoder: baseline, three components, 8-bit tables, no restart markers.

/// Writes the canonical form of one file.
pub(crate) fn form(jpeg: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let broken = || "the encoder wrote an unsupported file".to_owned();
    out.clear();
    let (mut quantisation, mut huffman): ([&[u8]; 4], [&[u8]; 4]) = ([&[]; 4], [&[]; 4]);
    let mut frame: &[u8] = &[];
    let mut at = 2;
    loop {
        let [0xff, marker, high, low] = *jpeg.get(at..at + 4).ok_or_else(broken)? else {
            return Err(broken());
        };
        let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
        let mut segment = jpeg.get(at + 4..end).ok_or_else(broken)?;
        at = end;
        match marker {
            0xdb => {
                while let [id @ 0..4, rest @ ..] = segment {
                    quantisation[usize::from(*id)] = rest.get(..64).ok_or_else(broken)?;
                    segment = &rest[64..];
                }
            }
            0xc4 => {
                while let [id, rest @ ..] = segment {
                    let slot = usize::from(id & 0x0f) * 2 + usize::from(id >> 4);
                    let length = 16 + rest.iter().take(16).map(|&n| usize::from(n)).sum::<usize>();
                    *huffman.get_mut(slot).ok_or_else(broken)? = rest.get(..length).ok_or_else(broken)?;
                    segment = &rest[length..];
                }
            }
            0xc0 => frame = segment,
            0xda => break,
            0xe0..=0xef | 0xfe => {}
            _ => return Err(broken()),
        }
    }
    let [8, h1, h0, w1, w0, 3, components @ ..] = frame else { return Err(broken()) };
    out.extend([w1, w0, h1, h0, &3]);
    for component in components.chunks(3) {
        let [_, sampling, table @ 0..4] = *component else { return Err(broken()) };
        out.push(sampling);
        out.extend(quantisation[usize::from(table)].iter().flat_map(|&value| [0, value]));
    }
    out.extend([0, 0]);
    huffman.iter().for_each(|table| out.extend(*table));
    out.extend(jpeg[at..].strip_suffix(&[0xff, 0xd9]).ok_or_else(broken)?);
    Ok(())
}
