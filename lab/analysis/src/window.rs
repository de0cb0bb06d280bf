//! The measured part of a trial: one window between two marks or, in a duel, the turns.
//!
//! Counts and times are summed over the turns before they are divided, so that a stall counts with its full length.

use netdyno_lab_store::samples::{METER_BEGIN, METER_END};
use netdyno_lab_store::{Sample, SampleKind, Turns};

/// The measured part of a trial, with its samples.
#[derive(Debug, Clone)]
pub struct Window<'a> {
    samples: &'a [Sample],
    /// Pairs of marks of counters. `None`: from the first mark to the last.
    counters: Option<Vec<(u64, u64)>>,
    /// Pairs of marks of the meter.
    meter: Vec<(u64, u64)>,
}

impl<'a> Window<'a> {
    /// The whole window of a trial, or its turns.
    pub fn new(samples: &'a [Sample], turns: Option<&Turns>) -> Window<'a> {
        match turns {
            None => Window { samples, counters: None, meter: vec![(METER_BEGIN, METER_END)] },
            Some(turns) => Window::between(samples, turns.marks()),
        }
    }

    /// The uninterrupted stretch of a session, if it has one.
    pub fn undisturbed(samples: &'a [Sample], turns: &Turns) -> Option<Window<'a>> {
        turns.stretch_marks().map(|marks| Window::between(samples, vec![marks]))
    }

    fn between(samples: &'a [Sample], marks: Vec<(u64, u64)>) -> Window<'a> {
        Window { samples, counters: Some(marks.clone()), meter: marks }
    }

    /// Increase of a counter, and its duration in ns by the role's clock.
    pub fn counter_delta(&self, role: &str, counter: &str) -> Option<(f64, f64)> {
        let series = series(self.samples, SampleKind::Counter, role, counter);
        let whole = || Some((series.iter().map(|s| s.mark).min()?, series.iter().map(|s| s.mark).max()?));
        let pairs = self.counters.clone().or_else(|| Some(vec![whole()?]))?;
        sum(&series, &pairs, counter).ok()
    }

    /// Increase of a field of the meter, and its duration in ns by the meter's clock, or the reason why it was not
    /// measured.
    pub fn meter_delta(&self, role: &str, field: &str) -> Result<(f64, f64), String> {
        let series = series(self.samples, SampleKind::Meter, role, field);
        sum(&series, &self.meter, &format!("{field} of the {role}"))
    }
}

/// Samples of one name, in stored order.
pub(crate) fn series<'a>(samples: &'a [Sample], kind: SampleKind, role: &str, name: &str) -> Vec<&'a Sample> {
    samples.iter().filter(|s| s.kind == kind && s.name == name && s.role == role).collect()
}

pub(crate) fn sample_at<'a>(series: &[&'a Sample], mark: u64) -> Option<&'a Sample> {
    series.iter().find(|s| s.mark == mark).copied()
}

/// Sum over the parts between these pairs of marks, or the reason why it does not exist.
fn sum(series: &[&Sample], pairs: &[(u64, u64)], what: &str) -> Result<(f64, f64), String> {
    let unread = || format!("the meter did not read {what}");
    let (mut count, mut ns) = (0u64, 0u64);
    for (begin, end) in pairs {
        let (a, b) = sample_at(series, *begin).zip(sample_at(series, *end)).ok_or_else(unread)?;
        match (a.value, b.value) {
            (Some(x), Some(y)) if y >= x && b.at_ns > a.at_ns => {
                count += y - x;
                ns += b.at_ns - a.at_ns;
            }
            (Some(_), Some(_)) => return Err(format!("{what} decreased")),
            (None, _) => return Err(a.source.clone()),
            (_, None) => return Err(b.source.clone()),
        }
    }
    if ns == 0 { Err(unread()) } else { Ok((count as f64, ns as f64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(mark: u64, at_ns: u64, value: u64) -> Sample {
        let (role, name, source) = ("sink".to_owned(), "bytes".to_owned(), "synthetic".to_owned());
        Sample { role, kind: SampleKind::Counter, mark, at_ns, name, value: Some(value), source }
    }

    fn turns(count: u32, stretch: bool) -> Turns {
        Turns { freezer: "synthetic".to_owned(), turn_ns: 10, lead_ns: 2, count, stretch, under_way: None }
    }

    #[test]
    fn the_window_spans_the_first_to_the_last_mark() {
        let samples = [counter(0, 10, 100), counter(1, 20, 150), counter(2, 30, 300)];
        assert_eq!(Window::new(&samples, None).counter_delta("sink", "bytes"), Some((200.0, 20.0)));
        assert_eq!(Window::new(&samples, None).counter_delta("sink", "messages"), None);
    }

    #[test]
    fn turns_are_summed_without_the_time_between_them() {
        let samples = [
            counter(0, 10, 100),
            counter(1, 20, 150),
            counter(2, 100, 400),
            counter(3, 112, 430),
            counter(4, 200, 500),
            counter(5, 300, 900),
        ];
        let window = |turns: &Turns| Window::new(&samples, Some(turns)).counter_delta("sink", "bytes");
        assert_eq!(window(&turns(2, true)), Some((80.0, 22.0)));
        assert_eq!(window(&turns(4, false)), None, "a turn without marks");
        let undisturbed = Window::undisturbed(&samples, &turns(2, true)).unwrap();
        assert_eq!(undisturbed.counter_delta("sink", "bytes"), Some((400.0, 100.0)));
        assert!(Window::undisturbed(&samples, &turns(2, false)).is_none());
    }

    #[test]
    fn a_decreasing_counter_has_no_delta() {
        let samples = [counter(0, 10, 100), counter(1, 20, 90)];
        assert_eq!(Window::new(&samples, None).counter_delta("sink", "bytes"), None);
    }
}
