//! Abusive clients against `netdyno serve` with a memory limit, in a network namespace.
//!
//! Honest clients request a page at a fixed rate, far below what the server can do. They must keep half of that rate, the
//! memory must stay within a bound, and the log must name the abuser, with few lines.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../../../../net/support/alone.rs"]
mod alone;
mod attacks;
#[allow(dead_code)]
#[path = "../cli/bench.rs"]
mod bench;
#[path = "../../../../net/support/hostile.rs"]
mod hostile;
#[allow(dead_code)]
#[path = "../cli/served.rs"]
mod served;

use std::io::Read;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use attacks::{ATTACKS, Attack, Target};
use bench::Bench;
use hostile::{StopOnDrop, limit_address_space, memory_bytes};
use served::{PATIENCE, Served};

/// RLIMIT_AS of the server.
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// Bound on the peak resident memory of the server.
const PEAK_BYTES: u64 = 128 << 20;
/// Lines of the log during an attack.
const LINES_MAX: usize = 40;
/// A picture of a study. Its page is larger than what the kernel accepts for a client that does not read.
const PICTURE_BYTES: usize = 4_000_000;
pub(crate) const TOKEN: &str = "0123456789abcdef";

/// Honest clients, and the interval of the requests of each.
const HONEST: usize = 4;
const INTERVAL: Duration = Duration::from_millis(200);
/// Length of a measurement of their rate.
const WINDOW: Duration = Duration::from_millis(600);
/// Measurements during an attack; the best one counts, so that other load on the machine does not decide the test.
const MEASUREMENTS: usize = 8;

/// Requests a page at a fixed rate, and counts responses.
fn visit(served: &Served, path: &str, pages: &AtomicU64, stop: &AtomicBool) {
    let authorization = format!("Authorization: Bearer {TOKEN}\r\n");
    while !stop.load(Ordering::Relaxed) {
        let next = Instant::now() + INTERVAL;
        let answer = served.ask(&format!("GET {path}"), &authorization, "");
        if answer.status == 200 && answer.body.trim_end().ends_with("</html>") {
            pages.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Pages within a window.
fn measure(pages: &AtomicU64) -> u64 {
    let before = pages.load(Ordering::Relaxed);
    thread::sleep(WINDOW);
    pages.load(Ordering::Relaxed) - before
}

/// Collects the log of the server.
fn read_log(served: &mut Served) -> Arc<Mutex<String>> {
    let log = Arc::new(Mutex::new(String::new()));
    let (mut stderr, text) = (served.process.stderr.take().unwrap(), Arc::clone(&log));
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut part) {
            text.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..count]));
        }
    });
    log
}

fn check(bench: &Bench, run: &str, Attack { name, has_token, run: attack, event, client }: &Attack) {
    let file = bench.path("token").display().to_string();
    let options = ["--token-file", &file];
    let mut served = Served::start(bench, if *has_token { &options } else { &[] });
    let server = served.process.id();
    limit_address_space(server, ADDRESS_SPACE_BYTES);
    let log = read_log(&mut served);
    let (stop, pages, page) = (AtomicBool::new(false), AtomicU64::new(0), format!("/runs/{run}.html"));
    let address = served.address.parse().unwrap();
    let target = Target { address, largest: "/studies/large.html", run, stop: &stop };
    let names_abuser = |line: &str| line.contains(event) && line.contains(&format!("client={client}"));
    thread::scope(|scope| {
        let end = StopOnDrop(&stop);
        for _ in 0..HONEST {
            scope.spawn(|| visit(&served, &page, &pages, &stop));
        }
        let expected = measure(&pages);
        assert!(expected > 0, "{name}: no pages without an attack");
        scope.spawn(|| attack(&target));
        let actual = (0..MEASUREMENTS).map(|_| measure(&pages)).find(|pages| 2 * pages >= expected);
        let begin = Instant::now();
        while !log.lock().unwrap().lines().any(names_abuser) {
            assert!(begin.elapsed() < PATIENCE, "{name}: no {event:?} in {}", log.lock().unwrap());
            thread::sleep(Duration::from_millis(20));
        }
        let (peak, lines) = (memory_bytes(server, "VmHWM"), log.lock().unwrap().lines().count());
        println!("{name}: {actual:?} of {expected} pages, peak memory {} MiB, {lines} lines", peak >> 20);
        assert!(actual.is_some(), "{name}: less than half of {expected} pages in {WINDOW:?}");
        assert!(peak <= PEAK_BYTES, "{name}: peak memory {} MiB", peak >> 20);
        assert!(lines <= LINES_MAX, "{name}: {lines} lines: {}", log.lock().unwrap());
        drop(end);
    });
}

/// A repository with a large study, and with a contender that keeps a run current until it is released.
fn bench() -> Bench {
    let bench = Bench::new(&[("one", None)]);
    bench.add_held("held");
    bench.write("token", TOKEN);
    bench.write("docs/studies/large.md", "# Large\n\n![a picture](large.png)\n");
    bench.write("docs/studies/large.png", &"x".repeat(PICTURE_BYTES));
    bench
}

#[test]
fn honest_clients_keep_half_of_their_rate() {
    alone::alone("honest_clients_keep_half_of_their_rate", || {
        let bench = bench();
        let mut run = bench.command(&["run", "dummy", "--max-blocks", "3", "--time-limits", "10"]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        bench.wait_for_trials(&mut run, 1);
        let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
        // One of them alone, for debugging.
        let only = std::env::var("NETDYNO_ABUSE").unwrap_or_default();
        ATTACKS.iter().filter(|it| it.name.contains(&only)).for_each(|it| check(&bench, &id, it));
        bench.release();
        assert_eq!(run.wait().unwrap().code(), Some(0));
    });
}
