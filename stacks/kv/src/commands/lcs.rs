//! LCS: the longest common subsequence of two strings.

use crate::args::{integer, is};
use crate::command::{Command, Context};
use crate::error::Error;
use crate::limits::LCS_CELLS_MAX;
use crate::spec::{Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("lcs", -3, Flags::READ_ONLY, Keys::range(1, 2, 1), Group::String, lcs)];

/// A common substring: its range in both strings.
struct Match {
    a: (usize, usize),
    b: (usize, usize),
}

/// The subsequence and the matching ranges, from last to first.
fn common(a: &[u8], b: &[u8]) -> (Vec<u8>, Vec<Match>) {
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            lengths[i * width + j] = if a[i - 1] == b[j - 1] {
                lengths[(i - 1) * width + j - 1] + 1
            } else {
                lengths[(i - 1) * width + j].max(lengths[i * width + j - 1])
            };
        }
    }
    let (mut text, mut matches) = (Vec::new(), Vec::<Match>::new());
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            (i, j) = (i - 1, j - 1);
            text.push(a[i]);
            match matches.last_mut() {
                Some(last) if last.a.0 == i + 1 && last.b.0 == j + 1 => (last.a.0, last.b.0) = (i, j),
                _ => matches.push(Match { a: (i, i), b: (j, j) }),
            }
        } else if lengths[(i - 1) * width + j] > lengths[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    text.reverse();
    (text, matches)
}

fn lcs(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let wrong = Error::fixed("ERR The specified keys must contain string values");
    let mut texts = [Vec::new(), Vec::new()];
    for (text, key) in texts.iter_mut().zip(&args[1..]) {
        *text = context.keys.string(key).map_err(|_| wrong.clone())?.unwrap_or_default().to_vec();
    }
    let (mut only_length, mut indexes, mut least, mut with_length) = (false, false, 0, false);
    let mut at = 3;
    while at < args.len() {
        match args[at] {
            word if is(word, "len") => only_length = true,
            word if is(word, "idx") => indexes = true,
            word if is(word, "withmatchlen") => with_length = true,
            word if is(word, "minmatchlen") && at + 1 < args.len() => {
                at += 1;
                least = usize::try_from(integer(args[at])?.max(0)).unwrap_or(usize::MAX);
            }
            _ => return Err(Error::SYNTAX),
        }
        at += 1;
    }
    if only_length && indexes {
        return Err(Error::fixed("ERR If you want both the length and indexes, please just use IDX."));
    }
    let [a, b] = texts;
    if (a.len() + 1).saturating_mul(b.len() + 1) > LCS_CELLS_MAX {
        return Err(Error::fixed(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    let (text, matches) = common(&a, &b);
    if only_length {
        context.reply.integer(text.len() as i64);
    } else if indexes {
        let long: Vec<&Match> = matches.iter().filter(|m| m.a.1 + 1 - m.a.0 >= least).collect();
        context.reply.map(2);
        context.reply.bulk(b"matches");
        context.reply.array(long.len());
        for found in long {
            context.reply.array(2 + usize::from(with_length));
            for (from, to) in [found.a, found.b] {
                context.reply.array(2);
                context.reply.integer(from as i64);
                context.reply.integer(to as i64);
            }
            if with_length {
                context.reply.integer((found.a.1 + 1 - found.a.0) as i64);
            }
        }
        context.reply.bulk(b"len");
        context.reply.integer(text.len() as i64);
    } else {
        context.reply.bulk(&text);
    }
    Ok(())
}
