//! Properties that hold for any commands and replies in chunks of any size.

use netdyno_resp::{
    Args, Progress, Protocol, Reply, ReplyLimits, ReplyParser, RequestLimits, RequestParser, Value,
    write_command,
};
use proptest::collection::vec;
use proptest::prelude::*;

type Command = Vec<Vec<u8>>;

/// Quotes a word for an inline command.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in word {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            0x20..=0x7e => out.push(*byte),
            _ => out.extend(format!("\\x{byte:02x}").bytes()),
        }
    }
    out.push(b'"');
    out
}

fn written(commands: &[(Command, bool)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (command, inline) in commands {
        if *inline {
            out.extend(command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(&b' '));
            out.extend(b"\r\n");
        } else {
            write_command(&mut out, &command.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
    }
    out
}

/// Random positions at which the input is cut.
fn cuts(numbers: &[prop::sample::Index], length: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = numbers.iter().map(|number| number.index(length + 1)).collect();
    cuts.push(length);
    cuts.sort_unstable();
    cuts
}

proptest! {
    #[test]
    fn commands_do_not_depend_on_chunks(
        commands in vec((vec(vec(any::<u8>(), 0..40), 1..6), any::<bool>()), 0..8),
        numbers in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let input = written(&commands);
        let (mut parser, mut args) = (RequestParser::new(RequestLimits::default()), Args::default());
        let (mut at, mut found) = (0, Vec::new());
        for there in cuts(&numbers, input.len()) {
            while let Progress::Complete(bytes) = parser.parse(&input[at..there], &mut args).unwrap() {
                found.push(args.iter(&input[at..there]).map(<[u8]>::to_vec).collect::<Command>());
                at += bytes;
            }
        }
        prop_assert_eq!(at, input.len());
        prop_assert_eq!(found, commands.into_iter().map(|(command, _)| command).collect::<Vec<_>>());
    }

    #[test]
    fn errors_do_not_depend_on_chunks(
        input in vec(prop::sample::select(&b"*$123-0\r\n\r\n\"' ax"[..]), 0..80),
        numbers in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let run = |cuts: &[usize]| {
            let (mut parser, mut args) = (RequestParser::new(RequestLimits::default()), Args::default());
            let (mut at, mut found) = (0, Vec::new());
            for there in cuts {
                loop {
                    match parser.parse(&input[at..*there], &mut args) {
                        Ok(Progress::Complete(bytes)) => {
                            found.push(args.iter(&input[at..*there]).map(<[u8]>::to_vec).collect::<Command>());
                            at += bytes;
                        }
                        Ok(Progress::Partial(_)) => break,
                        Err(error) => return (found, Some(error)),
                    }
                }
            }
            (found, None)
        };
        prop_assert_eq!(run(&cuts(&numbers, input.len())), run(&[input.len()]));
    }

    #[test]
    fn the_minimum_of_missing_bytes_is_a_lower_bound(
        command in vec(vec(any::<u8>(), 0..200), 1..6),
        number in any::<prop::sample::Index>(),
    ) {
        let input = written(&[(command, false)]);
        let there = number.index(input.len());
        let progress = RequestParser::new(RequestLimits::default()).parse(&input[..there], &mut Args::default()).unwrap();
        let Progress::Partial(more) = progress else { panic!("{there} bytes of {} are complete", input.len()) };
        prop_assert!(there + more <= input.len());
    }

    #[test]
    fn replies_round_trip(
        values in vec(any_value(), 0..20),
        resp3 in any::<bool>(),
        numbers in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let protocol = if resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
        let mut input = Vec::new();
        let mut reply = Reply::new(&mut input, protocol);
        let expected: Vec<_> = values.iter().flat_map(|value| value.write(&mut reply)).collect();
        let mut parser = ReplyParser::new(ReplyLimits::default());
        let (mut at, mut found) = (0, Vec::new());
        for there in cuts(&numbers, input.len()) {
            while let Some((value, bytes)) = parser.next(&input[at..there]).unwrap() {
                found.push(format!("{value:?}"));
                at += bytes;
            }
        }
        prop_assert_eq!(at, input.len());
        prop_assert!(parser.is_whole());
        prop_assert_eq!(found, expected);
    }
}

/// A value of a reply.
#[derive(Clone, Debug)]
enum Any {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    NullArray,
    Double(f64),
    Boolean(bool),
    Verbatim(Vec<u8>),
    BigNumber(u128),
    Array(Vec<Any>),
    Set(Vec<Any>),
    Push(Vec<Any>),
    Map(Vec<(Any, Any)>),
    Later(Vec<Any>),
}

fn any_value() -> impl Strategy<Value = Any> {
    let line = "[ -~]{0,20}";
    let leaf = prop_oneof![
        line.prop_map(Any::Simple),
        line.prop_map(Any::Error),
        any::<i64>().prop_map(Any::Integer),
        vec(any::<u8>(), 0..120).prop_map(Any::Bulk),
        Just(Any::Null),
        Just(Any::NullArray),
        any::<f64>().prop_map(Any::Double),
        any::<bool>().prop_map(Any::Boolean),
        vec(any::<u8>(), 0..20).prop_map(Any::Verbatim),
        any::<u128>().prop_map(Any::BigNumber),
    ];
    leaf.prop_recursive(4, 40, 12, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            vec(inner.clone(), 0..12).prop_map(Any::Array),
            vec(inner.clone(), 0..12).prop_map(Any::Set),
            vec(inner.clone(), 0..12).prop_map(Any::Push),
            vec(pair, 0..6).prop_map(Any::Map),
            vec(inner, 0..12).prop_map(Any::Later),
        ]
    })
}

impl Any {
    /// Writes the value and returns the expected parsed values as text.
    fn write(&self, reply: &mut Reply<'_>) -> Vec<String> {
        let resp3 = reply.protocol() == Protocol::Resp3;
        let as_text = |text: &str| Value::Bulk(text.as_bytes()).text();
        match self {
            Self::Simple(text) => {
                reply.simple(text);
                vec![Value::Simple(text.as_bytes()).text()]
            }
            Self::Error(text) => {
                reply.error(text);
                vec![Value::Error(text.as_bytes()).text()]
            }
            Self::Integer(value) => {
                reply.integer(*value);
                vec![Value::Integer(*value).text()]
            }
            Self::Bulk(bytes) => {
                reply.bulk(bytes);
                vec![Value::Bulk(bytes).text()]
            }
            Self::Null | Self::NullArray => {
                if matches!(self, Self::Null) {
                    reply.null()
                } else {
                    reply.null_array()
                }
                vec![Value::Null.text()]
            }
            Self::Double(value) => {
                reply.double(*value);
                let mut text = Vec::new();
                netdyno_resp::write_double(&mut text, *value);
                vec![if resp3 { Value::Double(*value) } else { Value::Bulk(&text) }.text()]
            }
            Self::Boolean(value) => {
                reply.boolean(*value);
                vec![if resp3 { Value::Boolean(*value) } else { Value::Integer((*value).into()) }.text()]
            }
            Self::Verbatim(text) => {
                reply.verbatim("txt", text);
                vec![if resp3 { Value::Verbatim(*b"txt", text) } else { Value::Bulk(text) }.text()]
            }
            Self::BigNumber(number) => {
                let digits = number.to_string();
                reply.big_number(&digits);
                vec![if resp3 { Value::BigNumber(digits.as_bytes()).text() } else { as_text(&digits) }]
            }
            Self::Array(values) | Self::Set(values) | Self::Push(values) | Self::Later(values) => {
                self.write_values(values, reply)
            }
            Self::Map(pairs) => {
                reply.map(pairs.len());
                let head = if resp3 { Value::Map(pairs.len()) } else { Value::Array(2 * pairs.len()) };
                let pairs = pairs.iter().flat_map(|(key, value)| [key, value]);
                let values: Vec<_> = pairs.flat_map(|value| value.write(reply)).collect();
                [vec![head.text()], values].concat()
            }
        }
    }

    fn write_values(&self, values: &[Self], reply: &mut Reply<'_>) -> Vec<String> {
        let length = values.len();
        let resp3 = reply.protocol() == Protocol::Resp3;
        let later = reply.later();
        let head = match self {
            Self::Set(_) => {
                reply.set(length);
                if resp3 { Value::Set(length) } else { Value::Array(length) }
            }
            Self::Push(_) => {
                reply.push(length);
                if resp3 { Value::Push(length) } else { Value::Array(length) }
            }
            Self::Array(_) => {
                reply.array(length);
                Value::Array(length)
            }
            _ => Value::Array(length),
        };
        let values: Vec<_> = values.iter().flat_map(|value| value.write(reply)).collect();
        if matches!(self, Self::Later(_)) {
            reply.finish_array(later, length);
        }
        [vec![head.text()], values].concat()
    }
}

trait Text {
    fn text(&self) -> String;
}

impl Text for Value<'_> {
    fn text(&self) -> String {
        format!("{self:?}")
    }
}
