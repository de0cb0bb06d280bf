//! What the process has used, and how long something takes.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Instant;

/// `USER_HZ`: in what part of a second /proc tells times, on every machine that we run on.
const TICKS_PER_SECOND: f64 = 100.0;
/// Fields of /proc/PID/stat behind the program's name: utime, stime, cutime, cstime (proc_pid_stat(5)).
const UTIME: usize = 11;

/// Microseconds since it was first asked.
pub(crate) fn stopwatch_us() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    // Fits for some hundred thousand years.
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

/// `used_cpu_*` of INFO, to a hundredth of a second. Nothing where /proc is not mounted.
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

/// In seconds. The name may contain anything, also brackets and spaces.
fn times(stat: &str) -> Option<[f64; 4]> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(UTIME);
    let mut next = || Some(fields.next()?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some([next()?, next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_behind_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 125 1 2 20 0 1 0 5 6 7";
        assert_eq!(times(stat), Some([2.5, 1.25, 0.01, 0.02]));
        for stat in ["", "7 (a) S 1 2", "7 (a S 1"] {
            assert_eq!(times(stat), None);
        }
    }

    #[test]
    fn this_process_has_used_something() {
        assert_eq!(cpu_lines().lines().count(), 4);
        let before = stopwatch_us();
        assert!(stopwatch_us() >= before);
    }
}
