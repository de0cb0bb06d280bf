use std::collections::VecDeque;

use netdyno_mjpeg_core::{Jpeg, JpegHeaders, QuantTables, Sampling};

use super::modes::{Format, Size, choose};
use super::*;

/// A camera with prepared buffers.
struct Prepared(VecDeque<io::Result<(Vec<u8>, bool)>>);

impl Buffers for Prepared {
    fn wait(&mut self, _: Duration) -> io::Result<bool> {
        Ok(!self.0.is_empty())
    }

    fn handle_next(&mut self, handle: &mut dyn FnMut(&[u8], bool)) -> io::Result<()> {
        let (buffer, is_intact) = self.0.pop_front().expect("a buffer is available")?;
        handle(&buffer, is_intact);
        Ok(())
    }
}

fn camera(buffers: impl IntoIterator<Item = io::Result<(Vec<u8>, bool)>>) -> Camera {
    Camera::with_buffers("/dev/video7".to_owned(), Box::new(Prepared(buffers.into_iter().collect())))
}

/// A file with arbitrary scan data.
fn file() -> Vec<u8> {
    let tables = QuantTables::computed(80).unwrap();
    let mut file = Vec::new();
    JpegHeaders { width: 64, height: 48, sampling: Sampling::Yuv422, tables, restart_interval: 0 }
        .append(&mut file);
    file.extend([0x12, 0x34, 0xff, 0, 0x56, 0xff, 0xd9]);
    file
}

/// The file without its Huffman tables.
fn without_tables(file: &[u8]) -> Vec<u8> {
    let begin = file.windows(2).position(|pair| pair == [0xff, 0xc4]).unwrap();
    let length = usize::from(u16::from_be_bytes([file[begin + 2], file[begin + 3]]));
    [&file[..begin], &file[begin + 2 + length..]].concat()
}

#[test]
fn camera_buffers_are_split_into_pictures() {
    let file = file();
    let (bare, cut) = (without_tables(&file), &file[..file.len() - 2]);
    let thumbnail =
        [&[0xff, 0xd8, 0xff, 0xe1, 0, 8, b'E', b'x', 0xff, 0xd8, 0xff, 0xd9], &file[2..]].concat();
    let buffers = [
        file.clone(),
        [&file[..], &[0; 4096]].concat(),
        bare.clone(),
        [&bare[..], &[0xff; 100]].concat(),
        cut.to_vec(),
        [&[0; 3], &file[..]].concat(),
        thumbnail.clone(),
        // Only the first picture of a buffer is used.
        [&file[..], &bare[..]].concat(),
    ];
    let mut camera = camera(buffers.map(|buffer| Ok((buffer, true))));
    assert_eq!(camera.timing(), Timing::Live);
    let mut picture = vec![1];
    for expected in [&file, &file, &bare, &bare, &file, &file, &thumbnail, &file] {
        assert_eq!(camera.next(&mut picture).unwrap(), Next::Picture);
        assert_eq!(&picture, expected);
        let jpeg = Jpeg::parse(&picture).unwrap();
        assert_eq!((jpeg.width(), jpeg.height(), jpeg.sampling()), (64, 48, Sampling::Yuv422));
    }
    assert_eq!(camera.next(&mut picture).unwrap(), Next::Pending);
    assert!(picture.is_empty());
}

#[test]
fn buffers_without_pictures_are_skipped_and_finally_reported() {
    let damaged =
        [(file(), false), (Vec::new(), true), (vec![0; 1000], true), (file()[..300].to_vec(), true)];
    let buffers = (0..MAX_BUFFERS_WITHOUT as usize).map(|index| Ok(damaged[index % damaged.len()].clone()));
    let mut camera = camera(buffers.chain([Ok((file(), true)), Err(io::Error::from_raw_os_error(19))]));
    let mut picture = Vec::new();
    for _ in 1..MAX_BUFFERS_WITHOUT {
        assert_eq!(camera.next(&mut picture).unwrap(), Next::Pending);
        assert!(picture.is_empty());
    }
    let error = camera.next(&mut picture).unwrap_err().to_string();
    assert!(error.starts_with("/dev/video7: 60 buffers without a JPEG picture"), "{error}");
    assert_eq!(camera.next(&mut picture).unwrap(), Next::Picture);
    // The camera is unplugged.
    let error = camera.next(&mut picture).unwrap_err().to_string();
    assert_eq!(error, "/dev/video7: No such device (os error 19)");
}

#[test]
fn mode_selection_or_list_of_modes() {
    let format = |name: &str, sizes| Format { name: name.to_owned(), sizes };
    let sizes = vec![
        Size::fixed(640, 480, vec![30.0, 15.0]),
        Size::fixed(3840, 2160, vec![7.5]),
        Size::fixed(1280, 720, vec![30.0, 29.97]),
    ];
    let usual = [format("YUYV", vec![Size::fixed(640, 480, vec![])]), format("MJPG", sizes)];
    assert_eq!(choose(&usual, Some((640, 480))), Ok(("MJPG", (640, 480))));
    assert_eq!(choose(&usual, Some((3840, 2160))), Ok(("MJPG", (3840, 2160))));
    assert_eq!(choose(&usual, None), Ok(("MJPG", (1280, 720))));
    assert_eq!(
        choose(&usual, Some((800, 600))).unwrap_err(),
        "no MJPG mode at 800x600; the camera has YUYV 640x480; MJPG 640x480 (30, 15 fps), 3840x2160 (7.5 fps), 1280x720 (30, 29.97 fps); \
         select one of these with --size"
    );

    let range = Size { min: (160, 120), max: (2592, 1944), step: (16, 8), rates: vec![] };
    let stepwise = [format("JPEG", vec![range])];
    assert_eq!(choose(&stepwise, None), Ok(("JPEG", (1920, 1080))));
    assert_eq!(choose(&stepwise, Some((176, 128))), Ok(("JPEG", (176, 128))));
    let error = choose(&stepwise, Some((170, 128))).unwrap_err();
    assert!(error.contains("JPEG 160x120 to 2592x1944; select"), "{error}");

    let raw = [format("YUYV", (1..40).map(|n| Size::fixed(n, n, vec![])).collect())];
    let error = choose(&raw, None).unwrap_err();
    assert!(error.contains("16x16 and 23 more; encode it with gstreamer:v4l2src"), "{error}");
    assert!(choose(&[], None).unwrap_err().starts_with("no MJPG mode; the camera has no formats"));
}

#[test]
fn missing_camera_is_reported() {
    let open = |device: &str| {
        let settings = CameraSettings { device: device.into(), ..CameraSettings::default() };
        Camera::open(&settings).unwrap_err().to_string()
    };
    assert!(open("/dev/no-camera").starts_with("/dev/no-camera: no such camera; "));
    assert!(open("/dev/null").starts_with("/dev/null: "));
}
