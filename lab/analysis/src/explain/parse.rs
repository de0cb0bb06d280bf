//! Parses the output of `perf script`, `perf trace --summary` and `strace -c`, within limits: names of functions are foreign
//! text.

use std::collections::BTreeMap;

use netdyno_lab_store::probe::Calls;

/// Maximum depth of a stack; the innermost frames are kept.
pub const FRAMES_MAX: usize = 96;
/// Maximum length of a function name.
pub const NAME_CHARS_MAX: usize = 160;
/// Maximum number of different stacks; samples of others count as [`OTHER`].
pub const STACKS_MAX: usize = 20_000;
/// Maximum number of names of system calls. Linux has about 400.
const CALLS_MAX: usize = 1000;
/// Suffix of kernel functions.
pub const KERNEL: &str = "_[k]";
/// Stack of the samples beyond [`STACKS_MAX`].
pub const OTHER: &str = "(other stacks)";

/// Folds the stacks printed by `perf script -F ip,sym,dso`: one line `address name (file)` per frame, innermost first, and an
/// empty line after each sample.
pub fn folded(text: &str) -> BTreeMap<String, u64> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines().chain([""]) {
        if let Some(frame) = frame(line) {
            frames.push(frame);
            continue;
        }
        if frames.is_empty() {
            continue;
        }
        frames.truncate(FRAMES_MAX);
        frames.reverse();
        let stack = frames.join(";");
        let has_room = stacks.len() < STACKS_MAX || stacks.contains_key(&stack);
        *stacks.entry(if has_room { stack } else { OTHER.to_owned() }).or_default() += 1;
        frames.clear();
    }
    stacks
}

/// `   ffffffff81e7c1a0 __x64_sys_sendto ([kernel.kallsyms])`.
fn frame(line: &str) -> Option<String> {
    let (address, rest) = line.trim().split_once(' ')?;
    let is_address = (4..=16).contains(&address.len()) && address.bytes().all(|b| b.is_ascii_hexdigit());
    let (name, file) = rest.rsplit_once(" (").filter(|_| is_address)?;
    let file = file.strip_suffix(')')?;
    let in_kernel = file.starts_with("[kernel") || file.starts_with("[guest.kernel") || file.ends_with(".ko");
    let name = match name.trim() {
        // perf prints no offset by default, and `[unknown]` without a symbol.
        "[unknown]" | "" => format!("[{}]", file.rsplit('/').next().unwrap_or(file).trim_matches(['[', ']'])),
        name => demangled(name),
    };
    let short: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    let short = short.replace(';', ":");
    Some(if in_kernel { format!("{short}{KERNEL}") } else { short })
}

/// Demangles Rust names without their hash. perf demangles C++ names itself.
fn demangled(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(rust) => format!("{rust:#}"),
        Err(_) => without_hash(name).to_owned(),
    }
}

/// Removes the hash of a legacy Rust name: `::h` and 16 digits.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

/// Sums the tables of `perf trace --summary`, one per thread, and the number of lost events.
pub fn perf_trace(text: &str) -> (BTreeMap<String, Calls>, u64) {
    let mut all = BTreeMap::new();
    let mut lost = 0u64;
    for line in text.lines() {
        if let Some(rest) = line.trim().strip_prefix("LOST ") {
            lost = lost.saturating_add(rest.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0));
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        // syscall, calls, errors, total (ms), min, avg, max, stddev
        let [name, calls, errors, total_ms, _, _, _, ..] = fields.as_slice() else { continue };
        let (Ok(calls), Ok(errors), Ok(ms)) = (calls.parse(), errors.parse(), total_ms.parse::<f64>()) else {
            continue;
        };
        add(&mut all, name, Calls { calls, errors, inside_ns: ms * 1e6 });
    }
    (all, lost)
}

/// Parses the table of `strace -c -w`: `% time, seconds, usecs/call, calls, errors, syscall`, where errors may be empty.
pub fn strace(text: &str) -> BTreeMap<String, Calls> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (seconds, calls, errors, name) = match fields.as_slice() {
            [_, seconds, _, calls, name] => (seconds, calls, "0", name),
            [_, seconds, _, calls, errors, name] => (seconds, calls, *errors, name),
            _ => continue,
        };
        let (Ok(seconds), Ok(calls), Ok(errors)) = (seconds.parse::<f64>(), calls.parse(), errors.parse())
        else {
            continue;
        };
        if *name != "total" {
            add(&mut all, name, Calls { calls, errors, inside_ns: seconds * 1e9 });
        }
    }
    all
}

fn add(all: &mut BTreeMap<String, Calls>, name: &str, more: Calls) {
    let is_name = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_name || !more.inside_ns.is_finite() || (all.len() >= CALLS_MAX && !all.contains_key(name)) {
        return;
    }
    let sum: &mut Calls = all.entry(name.to_owned()).or_default();
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.errors = sum.errors.saturating_add(more.errors);
    sum.inside_ns += more.inside_ns;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
\tffffffff81a3c1a0 udp_sendmsg ([kernel.kallsyms])
\tffffffff81e7c1a0 __x64_sys_sendto ([kernel.kallsyms])
\t    7f0c1a2b3c4d __libc_sendto (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t          401a2b std::io::Write::flush::h0123456789abcdef (/builds/one)

\t          401a2b _ZN4core3fmt5write17h0123456789abcdefE (/builds/one)
\t            478d [unknown] (/builds/one)

\t          401a2b _ZN4core3fmt5write17h0123456789abcdefE (/builds/one)
\t            478d [unknown] (/builds/one)
";

    #[test]
    fn stacks_are_folded_outermost_first() {
        let stacks = folded(SCRIPT);
        let expected = [
            ("[one];core::fmt::write", 2),
            ("std::io::Write::flush;__libc_sendto;__x64_sys_sendto_[k];udp_sendmsg_[k]", 1),
        ];
        assert_eq!(stacks.into_iter().collect::<Vec<_>>(), expected.map(|(s, n)| (s.to_owned(), n)));
    }

    #[test]
    fn a_name_cannot_inject_a_frame_or_a_stack() {
        let stacks = folded("\t401a2b a;b<script>(x) (/builds/one)\n\n not a frame\n");
        assert_eq!(stacks.into_keys().collect::<Vec<_>>(), ["a:b<script>(x)"]);
        let long = format!("\t401a2b {} (/one)\n", "x".repeat(1000)).repeat(200);
        let (stack, count) = folded(&long).into_iter().next().unwrap();
        assert_eq!((stack.split(';').count(), count), (FRAMES_MAX, 1));
        assert!(stack.split(';').all(|name| name.len() == NAME_CHARS_MAX));
    }

    #[test]
    fn summaries_of_threads_are_summed() {
        let text = "\
 Summary of events:

 ping (13052), 58 events, 96.7%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   recvfrom               8      1     0.500     0.005     0.010     0.021     17.00%
   sendto                 2      0     0.030     0.005     0.010     0.021      0.00%

LOST 17 events!

 ping (13053), 58 events, 96.7%

   recvfrom               1      0     0.250     0.005     0.010     0.021     17.00%
";
        let (calls, lost) = perf_trace(text);
        assert_eq!(lost, 17);
        assert_eq!(calls["recvfrom"], Calls { calls: 9, errors: 1, inside_ns: 750_000.0 });
        assert_eq!((calls["sendto"].calls, calls.len()), (2, 2));
    }

    #[test]
    fn strace_tables_are_parsed_with_and_without_errors() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000300           3       100         7 recvfrom
 40.00    0.000200           2       100           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000500           2       200         7 total
";
        let calls = strace(text);
        assert_eq!(calls["recvfrom"], Calls { calls: 100, errors: 7, inside_ns: 300_000.0 });
        assert_eq!((calls["sendto"].errors, calls.len()), (0, 2));
    }
}
