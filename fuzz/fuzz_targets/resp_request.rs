//! Parses arbitrary bytes as commands: the result is independent of segmentation, and accepted commands survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_resp::{
    Args, Progress, RequestError, RequestLimits, RequestParser, SHORT_ARGUMENTS, write_command,
};

type Commands = Vec<Vec<Vec<u8>>>;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (authenticated, step, bytes) = input;
    let (commands, end) = run(bytes, authenticated, usize::MAX);
    let cut = run(bytes, authenticated, usize::from(step.max(1)));
    assert_eq!((&commands, end), (&cut.0, cut.1));
    let mut written = Vec::new();
    for command in &commands {
        write_command(&mut written, &command.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    assert_eq!(run(&written, true, usize::MAX), (commands, None));
});

/// Returns the commands of `bytes`, which arrive in segments of `step` bytes.
fn run(bytes: &[u8], authenticated: bool, step: usize) -> (Commands, Option<RequestError>) {
    let limits = RequestLimits { max_line_bytes: 64, max_request_bytes: 4096, ..RequestLimits::default() };
    let mut parser = RequestParser::new(limits);
    parser.set_authenticated(authenticated);
    let (mut args, mut commands, mut at, mut there) = (Args::default(), Vec::new(), 0, 0);
    while there < bytes.len() {
        there = there.saturating_add(step).min(bytes.len());
        loop {
            let input = &bytes[at..there];
            let mut words = [&b""[..]; SHORT_ARGUMENTS];
            let short = parser.parse_short(input, &mut words);
            let whole = parser.parse(input, &mut args);
            if let Some((done, count)) = short {
                assert_eq!(whole, Ok(Progress::Complete(done)));
                assert!(args.iter(input).eq(words[..count].iter().copied()));
            }
            match whole {
                Ok(Progress::Complete(done)) => {
                    commands.push(args.iter(input).map(<[u8]>::to_vec).collect());
                    at += done;
                }
                Ok(Progress::Partial(more)) => {
                    assert!(more > 0);
                    break;
                }
                Err(error) => return (commands, Some(error)),
            }
        }
    }
    (commands, None)
}
