//! Valid, invalid and incomplete commands.

use super::*;

/// Parses `input` at once and byte by byte, with the same result.
fn check_with(
    limits: RequestLimits,
    authenticated: bool,
    input: &[u8],
    commands: &[&[&[u8]]],
    error: Option<RequestError>,
) {
    for step in [usize::MAX, 1, 2, 3] {
        let mut parser = RequestParser::new(limits);
        parser.set_authenticated(authenticated);
        let mut args = Args::default();
        let (mut at, mut there, mut found, mut ended) = (0, 0, Vec::new(), None);
        while ended.is_none() && there < input.len() {
            there = there.saturating_add(step).min(input.len());
            loop {
                match parser.parse(&input[at..there], &mut args) {
                    Ok(Progress::Complete(bytes)) => {
                        assert!(!parser.is_partial());
                        found.push(args.iter(&input[at..there]).map(<[u8]>::to_vec).collect::<Vec<_>>());
                        at += bytes;
                    }
                    Ok(Progress::Partial(more)) => {
                        assert!(more > 0);
                        assert_eq!(parser.is_partial(), at < there);
                        break;
                    }
                    Err(error) => {
                        ended = Some(error);
                        break;
                    }
                }
            }
        }
        assert_eq!(
            (&found[..], ended),
            (&owned(commands)[..], error),
            "{} in steps of {step}",
            input.escape_ascii()
        );
    }
}

fn owned(commands: &[&[&[u8]]]) -> Vec<Vec<Vec<u8>>> {
    commands.iter().map(|command| command.iter().map(|arg| arg.to_vec()).collect()).collect()
}

fn check(input: &[u8], commands: &[&[&[u8]]], error: Option<RequestError>) {
    check_with(RequestLimits::default(), true, input, commands, error);
}

#[test]
fn commands() {
    check(b"*1\r\n$4\r\nPING\r\n", &[&[b"PING"]], None);
    check(b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$1\r\nx\r\n", &[&[b"ECHO", b""], &[b"x"]], None);
    check(b"*2\r\n$4\r\nECHO\r\n$12\r\n\r\n*$0123456\r\r\n", &[&[b"ECHO", b"\r\n*$0123456\r"]], None);
    let long = [&b"*1\r\n$1000\r\n"[..], &[b'x'; 1000], b"\r\n"].concat();
    check(&long, &[&[&[b'x'; 1000]]], None);
    let many = [&b"*11\r\n"[..], &b"$1\r\na\r\n".repeat(11)].concat();
    check(&many, &[&[&b"a"[..]; 11]], None);
    check(b"PING\r\n", &[&[b"PING"]], None);
    check(b"PING\n", &[&[b"PING"]], None);
    check(
        b"set k \"a b\"\r\n*1\r\n$1\r\nx\r\n get k\r\n",
        &[&[b"set", b"k", b"a b"], &[b"x"], &[b"get", b"k"]],
        None,
    );
    check(b"$3\r\n", &[&[b"$3"]], None);
}

#[test]
fn empty_commands() {
    check(b"\r\n", &[&[]], None);
    check(b"*0\r\n", &[&[]], None);
    check(b"*-1\r\n*-10\r\nPING\r\n", &[&[], &[], &[b"PING"]], None);
}

#[test]
fn incomplete_commands() {
    check(b"*", &[], None);
    check(b"*2\r\n$4\r\nECHO\r\n", &[], None);
    check(b"*1\r\n$4\r\nPING\r", &[], None);
    check(b"*1\r\n$512\r\nabc", &[], None);
    check(b"PING", &[], None);
}

#[test]
fn invalid_commands() {
    use RequestError::*;
    check(b"*3000000000\r\n", &[], Some(InvalidMultibulkLength));
    check(b"*99999999999999999999\r\n", &[], Some(InvalidMultibulkLength));
    check(b"*x\r\n", &[], Some(InvalidMultibulkLength));
    check(b"*1\rX", &[], Some(InvalidMultibulkLength));
    check(b"*1\r\n*1\r\n*1\r\n", &[], Some(ExpectedDollar(b'*')));
    check(b"*1\r\nfoo\r\n", &[], Some(ExpectedDollar(b'f')));
    check(b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", &[], Some(ExpectedDollar(b'f')));
    check(b"*1\r\n$-10\r\n", &[], Some(InvalidBulkLength));
    check(b"*1\r\n$2000000000\r\n", &[], Some(InvalidBulkLength));
    check(b"*1\r\n$blabla\r\n", &[], Some(InvalidBulkLength));
    check(b"*1\r\n$1\r\nxyz", &[], Some(ExpectedLineEnd));
    check(b"PING\r\nset \"a\r\n", &[&[b"PING"]], Some(UnbalancedQuotes));
}

#[test]
fn limits_of_a_request() {
    use RequestError::*;
    let limits = RequestLimits {
        max_line_bytes: 20,
        max_arguments: 5,
        max_bulk_bytes: 50,
        max_request_bytes: 80,
        ..RequestLimits::default()
    };
    let check = |input: &[u8], error| check_with(limits, true, input, &[], error);
    check(&[b'*'; 20], None);
    check(&[b'*'; 21], Some(TooBigMultibulkCount));
    check(&[b'a'; 20], None);
    check(&[b'a'; 21], Some(TooBigInline));
    check(&[b"*1\r\n$", &b"1".repeat(20)[..]].concat(), Some(TooBigBulkCount));
    check(b"*6\r\n", Some(InvalidMultibulkLength));
    check(b"*1\r\n$51\r\n", Some(InvalidBulkLength));
    check(&[&b"*5\r\n$50\r\n"[..], &[b'x'; 50], b"\r\n$20\r\n"].concat(), Some(TooBigRequest));
}

#[test]
fn limits_before_authentication() {
    use RequestError::*;
    let limits = RequestLimits::default();
    let check = |input: &[u8], error| check_with(limits, false, input, &[], error);
    check(b"*10\r\n", None);
    check(b"*11\r\n", Some(UnauthenticatedMultibulkLength));
    check(b"*1\r\n$16384\r\n", None);
    check(b"*1\r\n$16385\r\n", Some(UnauthenticatedBulkLength));
}

#[test]
fn error_texts_match_redis() {
    let text = RequestError::ExpectedDollar(b'f').to_string();
    assert_eq!(text, "ERR Protocol error: expected '$', got 'f'");
    assert!(RequestError::ExpectedDollar(b'\r').to_string().ends_with("got '?'"));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn a_long_argument_takes_linear_time_byte_by_byte() {
    // Quadratic time would take minutes.
    let input = [
        &b"*1000\r\n"[..],
        &b"$100\r\n".iter().chain(&[b'x'; 100]).chain(b"\r\n").copied().collect::<Vec<_>>().repeat(1000),
    ]
    .concat();
    let (mut parser, mut args) = (RequestParser::new(RequestLimits::default()), Args::default());
    for there in 1..input.len() {
        assert!(matches!(parser.parse(&input[..there], &mut args), Ok(Progress::Partial(_))));
    }
    assert_eq!(parser.parse(&input, &mut args), Ok(Progress::Complete(input.len())));
    assert_eq!(args.len(), 1000);
}

#[test]
fn the_caller_keeps_the_capacity_for_arguments() {
    let (mut parser, mut args) = (RequestParser::new(RequestLimits::default()), Args::default());
    let input = b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n";
    let _ = parser.parse(input, &mut args);
    let room = args.spans.as_ptr();
    for _ in 0..3 {
        assert!(matches!(parser.parse(input, &mut args), Ok(Progress::Complete(_))));
        assert_eq!(args.spans.as_ptr(), room);
    }
    let _ = parser.parse(b"*1", &mut args);
    assert_eq!(args.spans.as_ptr(), room);
}
