//! Decodes arbitrary text as a contender's HDR histogram: no panic, bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_stats::histogram::Latencies;

fuzz_target!(|text: &str| {
    if let Ok(latencies) = Latencies::decode(text) {
        let _ = (latencies.count(), latencies.quantile(0.99), latencies.curve());
    }
});
