//! Distinct test pictures.

use netdyno_mjpeg::source::{Pattern, PatternSettings, Source};

pub(crate) fn pictures(count: usize) -> Vec<Vec<u8>> {
    let settings = PatternSettings { width: 160, height: 120, ..PatternSettings::default() };
    let mut pattern = Pattern::new(settings).unwrap();
    let mut next = || {
        let mut file = Vec::new();
        pattern.next(&mut file).unwrap();
        file
    };
    (0..count).map(|_| next()).collect()
}
