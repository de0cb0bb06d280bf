//! Resource usage of the process, and a stopwatch.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

/// `USER_HZ`, the unit of times in /proc on all supported machines.
const TICKS_PER_SECOND: f64 = 100.0;
/// Fields of /proc/PID/stat after the program's name: utime, stime, cutime, cstime (proc_pid_stat(5)).
const UTIME: usize = 11;

/// Microseconds since the first call.
pub(crate) fn stopwatch_us() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    // Fits for several hundred thousand years.
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

/// The `used_cpu_*` lines of INFO, with a resolution of 10 ms. Empty if /proc is not mounted.
pub(crate) fn cpu_lines() -> String {
    let read = |path| std::fs::read_to_string(path).ok().and_then(|stat| times(&stat));
    let mut text = String::new();
    let mut line = |name: &str, seconds: f64| {
        let _ = write!(text, "used_cpu_{name}:{seconds:.6}\r\n");
    };
    if let Some([user, system, children_user, children_system]) = read("/proc/self/stat") {
        line("sys", system);
        line("user", user);
        line("sys_children", children_system);
        line("user_children", children_user);
    }
    text
}

/// Times in seconds. The program's name may contain any characters, including parentheses and spaces.
fn times(stat: &str) -> Option<[f64; 4]> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(UTIME);
    let mut next = || Some(fields.next()?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some([next()?, next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 125 1 2 20 0 1 0 5 6 7";
        assert_eq!(times(stat), Some([2.5, 1.25, 0.01, 0.02]));
        for stat in ["", "7 (a) S 1 2", "7 (a S 1"] {
            assert_eq!(times(stat), None);
        }
    }

    #[test]
    fn cpu_time_of_this_process_is_reported() {
        assert_eq!(cpu_lines().lines().count(), 4);
        let before = stopwatch_us();
        assert!(stopwatch_us() >= before);
    }
}
