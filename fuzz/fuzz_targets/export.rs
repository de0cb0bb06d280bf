//! Any bytes as an exported run: read or refused, in bounded memory; of what is read every verdict can be computed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_lab_analysis::report;
use netdyno_lab_store::export;

fuzz_target!(|bytes: &[u8]| {
    let _ = export::read(bytes);
    // With the hash that a fuzzer does not find by itself.
    let Ok(exported) = export::read_lines(export::sealed(bytes).as_slice()) else { return };
    let report = report::build(&exported.run).expect("what is read has a workload");
    let _ = exported.printed.differences(&report.verdicts);
    let metrics = exported.run.header.parsed_workload().expect("read").metrics;
    let _ = netdyno_lab_report::terminal(&report, &metrics, 100);
    let _ = netdyno_lab_report::markdown(&report, &metrics);
    let mut again = Vec::new();
    export::write(&exported, &mut again).expect("memory");
    assert_eq!(export::read(again.as_slice()).expect("what is written is read"), exported);
});
