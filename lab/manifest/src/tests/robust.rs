//! No input makes a parser panic.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = (workload(&text), contender(&text));
    }

    #[test]
    fn no_edit_of_a_manifest_makes_a_parser_panic(
        at in 0usize..4096, cut in 0usize..40, put in "[\\[\\]{}=\".,a-z0-9\n-]{0,8}",
    ) {
        for valid in [WORKLOAD, CONTENDER] {
            let at = at % valid.len();
            let end = (at + cut).min(valid.len());
            let text = format!("{}{put}{}", &valid[..at], &valid[end..]);
            let _ = (shown(workload(&text)), shown(contender(&text)));
            if let Ok(workload) = workload(&text) {
                let _ = workload.resolve(None, &[("pairs".to_owned(), put.clone())]);
            }
        }
    }

    #[test]
    fn no_text_makes_a_substitution_panic(text in ".{0,64}") {
        let _ = substitute(&text, |p| Some(p.to_string()));
    }
}
