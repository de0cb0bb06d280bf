//! Parses arbitrary bytes as a JPEG file, also after valid headers: an accepted picture is parsed again unchanged after its headers
//! are reconstructed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_mjpeg_core::{Jpeg, JpegError, JpegHeaders, QuantTables, Sampling};

fuzz_target!(|input: (Option<(u8, u8, bool, u16)>, &[u8])| {
    let (headers, bytes) = input;
    let mut file = Vec::new();
    if let Some((width, height, is_422, restart_interval)) = headers {
        let sampling = if is_422 { Sampling::Yuv422 } else { Sampling::Yuv420 };
        let tables = QuantTables::computed(75).expect("75 is within 1 to 99");
        let (width, height) = (u16::from(width.max(1)), u16::from(height.max(1)));
        JpegHeaders { width, height, sampling, tables, restart_interval }.append(&mut file);
    }
    file.extend_from_slice(bytes);
    match Jpeg::parse(&file) {
        Ok(jpeg) => check(&jpeg),
        Err(JpegError::Malformed { offset, .. }) => assert!(offset <= file.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fn check(jpeg: &Jpeg<'_>) {
    assert!(jpeg.width() > 0 && jpeg.height() > 0 && !jpeg.scan().is_empty());
    let mut file = Vec::new();
    JpegHeaders::from(jpeg).append(&mut file);
    file.extend_from_slice(jpeg.scan());
    file.extend([0xff, 0xd9]);
    assert_eq!(Jpeg::parse(&file).as_ref(), Ok(jpeg));
}
