//! The parser of the program's report of a run, which yields samples for a histogram.
//!
//! A report contains cumulative counts for about forty latencies, and a few percentiles. Each operation is recorded with the next
//! higher of these latencies: an upper bound, which is exact at the percentiles.

/// The report of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Latencies in ns, each with the number of operations above the previous latency and up to this one.
    pub latencies: Vec<(u64, u64)>,
}

/// The percentiles of the last table, in order; its first columns are average and minimum.
const PERCENTILES: [(usize, u64); 3] = [(2, 50), (3, 95), (4, 99)];
const COLUMNS: usize = 6;
const NS_PER_MS: f64 = 1e6;

/// Parses the reports of all runs that started and ended within `text`, which excludes the first one.
pub fn reports(text: &str) -> Result<Vec<Report>, String> {
    let mut all = Vec::new();
    let mut points: Points = Points::default();
    let mut lines = text.split(['\n', '\r']).map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(requests) = line.strip_suffix(" seconds").and_then(completed) {
            points = Points { requests, ..Points::default() };
        } else if let Some(point) = point(line) {
            points.below.push(point);
        } else if line.starts_with("avg ") {
            let values = lines.next().unwrap_or_default();
            if points.requests > 0 {
                all.push(std::mem::take(&mut points).report(values)?);
            }
        }
    }
    if !all.is_empty() {
        all.remove(0);
    }
    Ok(all)
}

/// `10000 requests completed in 0.07`
fn completed(line: &str) -> Option<u64> {
    line.split_once(" requests completed in ")?.0.parse().ok()
}

/// `75.000% <= 0.303 milliseconds (cumulative count 7600)`
fn point(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.split_once("% <= ")?;
    let (value, rest) = rest.split_once(" milliseconds (cumulative count ")?;
    Some((ns(value)?, rest.strip_suffix(')')?.parse().ok()?))
}

fn ns(milliseconds: &str) -> Option<u64> {
    let value: f64 = milliseconds.parse().ok()?;
    // The cast saturates.
    value.is_finite().then_some((value * NS_PER_MS).round() as u64)
}

#[derive(Debug, Default)]
struct Points {
    requests: u64,
    /// Latencies and the number of operations up to each.
    below: Vec<(u64, u64)>,
}

impl Points {
    fn report(mut self, values: &str) -> Result<Report, String> {
        let values: Vec<u64> = values.split_whitespace().map_while(ns).collect();
        if values.len() != COLUMNS || self.below.is_empty() {
            return Err(
                "unknown format of redis-benchmark's report; versions 6.2 to 8 are supported".to_owned()
            );
        }
        let percentile = |(at, percent): (usize, u64)| (values[at], (self.requests * percent).div_ceil(100));
        self.below.extend(PERCENTILES.map(percentile));
        self.below.push((values[COLUMNS - 1], self.requests));
        self.below.sort_unstable();
        let mut latencies = Vec::new();
        let mut counted = 0;
        for (latency_ns, below) in self.below {
            // Different rounding in the two tables may make counts decrease.
            let below = below.min(self.requests);
            if below > counted {
                latencies.push((latency_ns, below - counted));
                counted = below;
            }
        }
        Ok(Report { latencies })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = " \rSET: rps=0.0 (overall: nan) avg_msec=nan (overall: nan)\r    ====== SET ======                    \n  \
        200 requests completed in 0.01 seconds\n  50 parallel clients\n  3 bytes payload\n  keep alive: 1\n  multi-thread: no\n\n\
        Latency by percentile distribution:\n0.000% <= 0.100 milliseconds (cumulative count 1)\n50.000% <= 0.200 milliseconds (cumulative count 101)\n\
        99.219% <= 0.900 milliseconds (cumulative count 199)\n100.000% <= 1.500 milliseconds (cumulative count 200)\n\n\
        Cumulative distribution of latencies:\n0.000% <= 0.103 milliseconds (cumulative count 1)\n60.000% <= 0.303 milliseconds (cumulative count 120)\n\
        100.000% <= 1.607 milliseconds (cumulative count 200)\n\n\
        Summary:\n  throughput summary: 20000.00 requests per second\n  latency summary (msec):\n          \
        avg       min       p50       p95       p99       max\n        0.250     0.096     0.199     0.800     0.890     1.500\n\n";

    #[test]
    fn percentiles_of_a_run_are_exact() {
        let found = reports(&RUN.repeat(3)).unwrap();
        let wanted = vec![
            (100_000, 1),
            (199_000, 99),
            (200_000, 1),
            (303_000, 19),
            (800_000, 70),
            (890_000, 8),
            (900_000, 1),
            (1_500_000, 1),
        ];
        assert_eq!(found, vec![Report { latencies: wanted }; 2]);
    }

    #[test]
    fn incomplete_runs_are_excluded() {
        let half = RUN.len() / 2;
        assert_eq!(reports("").unwrap(), []);
        assert_eq!(reports(RUN).unwrap(), []);
        // The head of the first report is missing, so it is not a complete run.
        assert_eq!(reports(&[&RUN[half..], RUN, RUN].concat()).unwrap().len(), 1);
        assert_eq!(reports(&[RUN, RUN, &RUN[..half]].concat()).unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_format_is_an_error() {
        let other = RUN.replace("     1.500\n", "\n");
        assert!(reports(&other.repeat(2)).unwrap_err().contains("6.2"));
    }
}
