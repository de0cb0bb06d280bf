use super::*;

const STREAM: StreamId = StreamId(65_534);

fn parked(text: &'static str) -> Parked {
    Parked { ppid: Ppid::STRING, data: Bytes::from_static(text.as_bytes()) }
}

fn at(interleaving: bool, number: u32) -> Streams {
    let mut streams = Streams::new(interleaving);
    *streams.next_mut(STREAM) = number;
    streams
}

#[test]
fn numbers_are_compared_as_the_protocol_does() {
    for (interleaving, next, number, turn) in [
        (false, 0, 0, Sequence::Next),
        (false, 0, 1, Sequence::Early),
        (false, 0, 32_767, Sequence::Early),
        (false, 0, 32_768, Sequence::Stale),
        (false, 0, 65_535, Sequence::Stale),
        (false, 65_535, 0, Sequence::Early),
        (false, 65_535, 65_535, Sequence::Next),
        (false, 40_000, 39_999, Sequence::Stale),
        (true, 0, 65_535, Sequence::Early),
        (true, 0, u32::MAX, Sequence::Stale),
        (true, u32::MAX, 0, Sequence::Early),
        (true, 0, 1 << 31, Sequence::Stale),
    ] {
        let mut streams = at(interleaving, next);
        assert_eq!(streams.classify(STREAM, number), turn, "{number} after {next}");
        assert_eq!(streams.take_turn(STREAM, number), turn == Sequence::Next, "{number} after {next}");
    }
}

#[test]
fn parked_messages_follow_across_the_wrap() {
    for (interleaving, last) in [(false, 65_535), (true, u32::MAX)] {
        let mut streams = at(interleaving, last - 1);
        assert!(streams.park(STREAM, last, parked("a")) && streams.park(STREAM, 0, parked("b")));
        assert!(!streams.park(STREAM, 0, parked("again")));
        assert_eq!(streams.take_parked(STREAM), None);
        assert!(streams.take_turn(STREAM, last - 1));
        assert!(streams.take_parked(STREAM).is_some() && streams.take_parked(STREAM).is_some());
        assert_eq!((streams.take_parked(STREAM), streams.classify(STREAM, 1)), (None, Sequence::Next));
    }
}

#[test]
fn a_skip_gives_what_is_here_across_the_wrap() {
    for (interleaving, last) in [(false, 65_535), (true, u32::MAX)] {
        let mut streams = at(interleaving, last - 3);
        for (number, text) in [(last - 1, "a"), (last, "b"), (1, "c"), (3, "d")] {
            assert!(streams.park(STREAM, number, parked(text)));
        }
        assert!(streams.park(StreamId(1), last, parked("another stream")));
        let mut given = Vec::new();
        while let Some(message) = streams.skip_to(STREAM, 2) {
            given.push(message.data);
        }
        assert_eq!(given, ["a", "b", "c"]);
        assert_eq!((streams.classify(STREAM, 3), streams.skip_to(STREAM, 1)), (Sequence::Next, None));
        assert_eq!(streams.take_parked(STREAM).unwrap().data, "d");
        assert_eq!(streams.parked_count(), 1);
    }
}

#[test]
fn all_streams_together_take_little() {
    let mut streams = Streams::new(false);
    for stream in 0..=u16::MAX {
        assert!(streams.take_turn(StreamId(stream), 0));
    }
    assert!(streams.page_bytes() <= 270_336, "{}", streams.page_bytes());
    streams.reset(&[], |_| ());
    assert_eq!(streams.page_bytes(), 0);
}
