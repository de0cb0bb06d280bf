//! Reads arbitrary bytes as an exported run: bounded memory, and every verdict of an accepted run can be computed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netdyno_lab_analysis::report;
use netdyno_lab_store::export;

fuzz_target!(|bytes: &[u8]| {
    let _ = export::read(bytes);
    // Add the hash, which a fuzzer cannot find.
    let Ok(exported) = export::read_lines(export::sealed(bytes).as_slice()) else { return };
    let report = report::build(&exported.run).expect("an accepted run has a workload");
    let _ = exported.printed.differences(&report.verdicts);
    let metrics = exported.run.header.parsed_workload().expect("read").metrics;
    let _ = netdyno_lab_report::terminal(&report, &metrics, 100);
    let _ = netdyno_lab_report::markdown(&report, &metrics);
    let mut again = Vec::new();
    export::write(&exported, &mut again).expect("memory");
    assert_eq!(export::read(again.as_slice()).expect("a written run is valid"), exported);
});
