//! The headers of a JPEG file that is reconstructed from packets (RFC 2435 section 4.1 and appendix B): JFIF, baseline,
//! typical Huffman tables.

use crate::huffman::{ALL, standard};
use crate::jpeg::{Jpeg, Sampling, marker};
use crate::limits::MAX_JPEG_HEADER_BYTES;
use crate::tables::QuantTables;

/// The parameters in the headers of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegHeaders {
    /// Width in pixels, at least 1.
    pub width: u16,
    /// Height in pixels, at least 1.
    pub height: u16,
    /// Subsampling.
    pub sampling: Sampling,
    /// Quantisation tables.
    pub tables: QuantTables,
    /// Restart interval in minimum coded units (MCU); 0 without restart markers.
    pub restart_interval: u16,
}

impl From<&Jpeg<'_>> for JpegHeaders {
    fn from(jpeg: &Jpeg<'_>) -> Self {
        Self {
            width: jpeg.width(),
            height: jpeg.height(),
            sampling: jpeg.sampling(),
            tables: *jpeg.tables(),
            restart_interval: jpeg.restart_interval(),
        }
    }
}

impl JpegHeaders {
    /// Appends the segments from SOI to the scan header, at most [`MAX_JPEG_HEADER_BYTES`]. The caller appends scan data and EOI
    /// (FF D9).
    pub fn append(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0xff, marker::SOI]);
        // JFIF 1.1 without density and thumbnail. JFIF implies YCbCr.
        segment(out, marker::APP0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
        for (number, table) in [(0, &self.tables.luma), (1, &self.tables.chroma)] {
            let length = 3 + table.length() as u16;
            out.extend([0xff, marker::DQT]);
            out.extend(length.to_be_bytes());
            out.push(u8::from(table.is_wide()) << 4 | number);
            table.append(out);
        }
        self.append_frame_header(out);
        append_huffman_tables(out);
        if self.restart_interval > 0 {
            segment(out, marker::DRI, &self.restart_interval.to_be_bytes());
        }
        segment(out, marker::SOS, &[3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]);
        debug_assert!(out.len() - start <= MAX_JPEG_HEADER_BYTES);
    }

    fn append_frame_header(&self, out: &mut Vec<u8>) {
        // > An 8-bit DCT-based process shall not use a 16-bit precision quantization table (T.81 B.2.4.1)
        //
        // Decoders accept such tables with SOF1, as libjpeg writes them.
        let is_wide = self.tables.luma.is_wide() || self.tables.chroma.is_wide();
        let (horizontal, vertical) = self.sampling.luma_factors();
        let [h1, h0] = self.height.to_be_bytes();
        let [w1, w0] = self.width.to_be_bytes();
        let factors = horizontal << 4 | vertical;
        let body = [8, h1, h0, w1, w0, 3, 1, factors, 0, 2, 0x11, 1, 3, 0x11, 1];
        segment(out, if is_wide { marker::SOF1 } else { marker::SOF0 }, &body);
    }
}

/// Appends one DHT segment with all four tables.
fn append_huffman_tables(out: &mut Vec<u8>) {
    let length: usize = ALL.iter().map(|(class, part)| 17 + standard(*class, *part).values.len()).sum();
    out.extend([0xff, marker::DHT]);
    out.extend((2 + length as u16).to_be_bytes());
    for (class, part) in ALL {
        let table = standard(class, part);
        out.push((class as u8) << 4 | part as u8);
        out.extend(table.counts);
        out.extend(table.values);
    }
}

fn segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xff, marker]);
    out.extend((2 + body.len() as u16).to_be_bytes());
    out.extend(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::QuantTable;

    #[test]
    fn formatted_headers_parse_to_the_same_values() {
        let wide = QuantTable::new([300; 64]).unwrap();
        let computed = QuantTables::computed(75).unwrap();
        for (tables, restart_interval, bytes) in [
            (computed, 0, 611),
            (computed, 9, 617),
            (QuantTables { luma: wide, ..computed }, 1, 681),
            (QuantTables { luma: wide, chroma: wide }, 1, MAX_JPEG_HEADER_BYTES),
        ] {
            for sampling in [Sampling::Yuv422, Sampling::Yuv420] {
                let headers = JpegHeaders { width: 17, height: 1, sampling, tables, restart_interval };
                let mut file = Vec::new();
                headers.append(&mut file);
                assert_eq!(file.len(), bytes);
                // Two MCUs: one restart interval of nine, or two of one.
                file.extend_from_slice(if restart_interval == 1 { &[1, 0xff, 0xd0, 2] } else { &[1, 2] });
                file.extend([0xff, marker::EOI]);
                let jpeg = Jpeg::parse(&file).unwrap();
                assert_eq!(JpegHeaders::from(&jpeg), headers);
                assert_eq!(jpeg.scan(), &file[bytes..file.len() - 2]);
            }
        }
    }

    /// Also under Miri, unlike the integration test of damaged files, which needs an encoder.
    #[test]
    fn damaged_headers_cause_no_panic() {
        let tables = QuantTables::computed(75).unwrap();
        let mut file = Vec::new();
        JpegHeaders { width: 17, height: 1, sampling: Sampling::Yuv420, tables, restart_interval: 1 }
            .append(&mut file);
        let header_bytes = file.len();
        file.extend([1, 0xff, 0xd0, 2, 0xff, marker::EOI]);
        assert!(Jpeg::parse(&file).is_ok());
        let step = if cfg!(miri) { 41 } else { 1 };
        for at in (0..file.len()).step_by(step) {
            // A truncated scan is accepted.
            assert!(Jpeg::parse(&file[..at]).is_err() || at > header_bytes, "{at}");
            let mut other = file.clone();
            other[at] = 0xff;
            let _ = Jpeg::parse(&other);
        }
    }
}
