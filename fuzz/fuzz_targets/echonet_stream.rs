//! Parses arbitrary bytes as a TCP stream with any segmentation: the messages are the same as without segmentation, and at most
//! one message is buffered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_echonet_core::{Frame, FrameError, MESSAGE_BYTES_MAX, Messages};

/// The messages, and the error that ends the stream.
type Read = (Vec<Vec<u8>>, Option<FrameError>);

fn read(parts: &[&[u8]]) -> Read {
    let (mut kept, mut read) = (Vec::new(), Vec::new());
    for part in parts {
        kept.extend_from_slice(part);
        let mut messages = Messages::new(&kept);
        for message in messages.by_ref() {
            match message {
                Ok(message) => read.push(message.to_vec()),
                Err(error) => return (read, Some(error)),
            }
        }
        assert!(messages.next().is_none());
        kept = messages.left().to_vec();
        assert!(kept.len() < MESSAGE_BYTES_MAX, "more than one message is buffered");
    }
    (read, None)
}

fuzz_target!(|input: (Vec<u16>, Vec<&[u8]>, bool)| {
    let (cuts, bodies, ours) = input;
    let head = [0x10, 0x81, 0, 1, 0x05, 0xFF, 1, 0x02, 0x91, 1];
    let stream = bodies.iter().flat_map(|body| [if ours { &head[..] } else { &[] }, body].concat());
    let stream: Vec<u8> = stream.collect();
    let (mut parts, mut rest) = (Vec::new(), &stream[..]);
    for cut in cuts {
        let (part, others) = rest.split_at(usize::from(cut).min(rest.len()));
        parts.push(part);
        rest = others;
    }
    parts.push(rest);
    let whole = read(&[&stream]);
    assert_eq!(read(&parts), whole);
    let mut at = 0;
    for message in &whole.0 {
        assert!(Frame::parse(message).is_ok_and(|frame| frame.trailing_bytes == 0));
        assert_eq!(stream[at..][..message.len()], message[..]);
        at += message.len();
    }
});
