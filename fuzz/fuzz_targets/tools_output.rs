//! Parses arbitrary output of perf and strace, including names that a contender chose: limits hold, the number of samples is
//! preserved, and the flame graph stays valid.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use netdyno_lab_analysis::explain::parse::{
    FRAMES_MAX, NAME_CHARS_MAX, STACKS_MAX, folded, perf_trace, strace,
};
use netdyno_lab_analysis::explain::profile::Places;
use netdyno_lab_report::explain::flame::{Stacks, svg};

fuzz_target!(|text: &str| {
    let stacks = folded(text);
    assert!(stacks.len() <= STACKS_MAX + 1);
    for stack in stacks.keys() {
        assert!(stack.split(';').count() <= FRAMES_MAX);
        // The mark for kernel functions is added to the limit.
        assert!(stack.split(';').all(|name| name.chars().count() <= NAME_CHARS_MAX + 4));
    }
    let places = Places::new(&stacks);
    assert_eq!(places.samples, stacks.values().sum::<u64>());
    assert_eq!(places.places.values().sum::<u64>(), places.samples);
    let none = BTreeMap::new();
    let all = [Stacks { role: "role", sides: [&stacks, &none], cpu_ns: [1000.0, 1000.0] }];
    let picture = svg("title", ["a", "b"], "msg", &all);
    assert!(!picture.contains("<script") && picture.ends_with("</svg>\n"));
    let (calls, _) = perf_trace(text);
    assert!(calls.len() <= 1000 && strace(text).len() <= 1000);
});
