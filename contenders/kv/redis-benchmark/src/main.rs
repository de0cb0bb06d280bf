//! redis-benchmark as a load generator of the `kv` workload, as used by published comparisons.
//!
//! | does | does not |
//! |---|---|
//! | verify like every load generator, then start the program, which performs consecutive runs of 10,000 requests | mix GET and SET, keep a rate, or draw keys by Zipf's law: such parameters are unsupported |
//! | count answers by the bytes that were read from its connections, as reported by the kernel | compare answers while the program runs |
//! | take latencies from the program's reports of runs within the measured window | measure latencies itself |
//! | read keys back at the end | compare values that the program wrote, except their length |
//!
//! Each run of the program opens new connections, so about a millisecond without requests lies between two runs.

mod afterwards;
mod counts;
mod limits;
mod program;
mod report;
mod sockets;

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use netdyno_contender::kv::{Distribution, Job, connect, verify};
use netdyno_contender::{Event, Histograms, Lab, Phase, Setup, end};
use serde_json::Value;

use counts::{Progress, Run};
use limits::{MAX_RUN_REQUESTS, MAX_SECONDS, ROUNDS, RUN_REQUESTS};
use program::{PROGRAM, Program};

/// An order to the verifying thread.
enum Order {
    Connect { port: u16 },
    Verify,
}

/// The state that both threads share.
struct Bench {
    job: Job,
    run: Run,
    orders: Mutex<Sender<Order>>,
    port: OnceLock<u16>,
    program: Mutex<Option<Program>>,
}

fn main() {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| BENCH.wait().handle(event));
    let job = Job::new(lab, &setup, "load");
    if let Err(why) = refused(&job, &setup) {
        lab.unsupported(why);
    }
    let version = version().unwrap_or_else(|why| lab.failed(why));
    let (sender, orders) = channel();
    let bench = BENCH.get_or_init(|| Bench {
        run: run_of(&job),
        job,
        orders: Mutex::new(sender),
        port: OnceLock::new(),
        program: Mutex::new(None),
    });
    lab.ready(PROGRAM, &version, "one thread, epoll");
    if let Err(why) = bench.prepare(&orders) {
        lab.failed(why);
    }
    // The other thread ends the process.
    loop {
        std::thread::park();
    }
}

/// Checks for parameters that the program does not support.
fn refused(job: &Job, setup: &Setup) -> Result<(), String> {
    let seconds = setup.params.float("seconds") + setup.params.float("warmup_seconds");
    if job.rate > 0 {
        return Err(format!("rate={}: {PROGRAM} has no open loop", job.rate));
    }
    if !matches!(job.set_percent, 0 | 100) {
        let share = job.set_percent;
        return Err(format!("set_percent={share}: {PROGRAM} cannot mix GET and SET; use 0 or 100"));
    }
    if job.distribution == Distribution::Zipf {
        return Err(format!("distribution=zipf: {PROGRAM} has only uniform keys"));
    }
    if seconds > MAX_SECONDS {
        return Err(format!(
            "seconds + warmup_seconds exceeds {MAX_SECONDS}: reports are stored until the end"
        ));
    }
    let requests = run_of(job).requests;
    if requests > MAX_RUN_REQUESTS {
        return Err(format!(
            "connections times pipeline: a run of {requests} requests exceeds {MAX_RUN_REQUESTS}"
        ));
    }
    Ok(())
}

fn run_of(job: &Job) -> Run {
    let (connections, pipeline) = (job.connections as u64, job.pipeline as u64);
    let of_set = b"+OK\r\n".len();
    let of_get = format!("${}\r\n", job.value_bytes).len() + job.value_bytes + b"\r\n".len();
    Run {
        connections,
        requests: pipeline * RUN_REQUESTS.max(ROUNDS * connections),
        answer_bytes: if job.set_percent == 0 { of_get } else { of_set } as u64,
    }
}

/// `redis-benchmark 7.0.15`
fn version() -> Result<String, String> {
    let output = Command::new(PROGRAM).arg("--version").output();
    let output = output.map_err(|e| format!("{PROGRAM} --version: {e}; it is in the package redis-tools"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1);
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("{PROGRAM} --version prints no version: {}", text.trim()))
}

impl Bench {
    /// Connects and verifies, each on an order.
    fn prepare(&self, orders: &Receiver<Order>) -> Result<(), String> {
        let (job, lab) = (&self.job, self.job.lab);
        let Ok(Order::Connect { port }) = orders.recv() else {
            return Err("a phase started before the server's signal".to_owned());
        };
        let (mut links, setup_ns) = connect(job.peer(port), job.connections)?;
        lab.connected(&setup_ns);
        let Ok(Order::Verify) = orders.recv() else {
            return Err("the first phase must be `verify`".to_owned());
        };
        let verified = verify(job, &mut links)?;
        // The program opens its own connections, and the server may limit their number.
        drop(links);
        lab.verified(&verified.digest, verified.messages, verified.bytes);
        Ok(())
    }

    fn handle(&self, event: Event) {
        let lab = self.job.lab;
        match event {
            Event::Signal { body, .. } => match body.get("port").and_then(Value::as_u64).map(u16::try_from) {
                Some(Ok(port)) if self.port.set(port).is_ok() => self.order(Order::Connect { port }),
                _ => lab.failed(format!("signal without a port, or a duplicate: {body}")),
            },
            Event::Start(Phase::Verify) => self.order(Order::Verify),
            Event::Start(Phase::Warmup) => self.or_fail(self.start()),
            Event::Start(Phase::Measure) => {
                self.or_fail(self.with_program(Program::measure).unwrap_or(Ok(())))
            }
            Event::Mark { id } => {
                let values = self.values(self.or_fail(self.progress()), 0);
                lab.counters(id, &values);
            }
            Event::Stop => self.stop(),
        }
    }

    fn order(&self, order: Order) {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if orders.send(order).is_err() {
            self.job.lab.failed("unexpected order from the lab");
        }
    }

    fn start(&self) -> Result<(), String> {
        let port = *self.port.get().ok_or("`warmup` started before the server's signal")?;
        let program = Program::start(&self.job, self.job.peer(port), self.run)?;
        *self.program.lock().unwrap_or_else(PoisonError::into_inner) = Some(program);
        Ok(())
    }

    /// Returns `None` before the program is started.
    fn with_program<T>(&self, act: impl FnOnce(&mut Program) -> T) -> Option<T> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }

    fn progress(&self) -> Result<Progress, String> {
        self.with_program(|program| program.progress()).unwrap_or(Ok(Progress { runs: 0, operations: 0 }))
    }

    fn stop(&self) -> ! {
        let progress = self.or_fail(self.progress());
        let ended = self.with_program(|program| program.end(progress.runs));
        let (reports, errors) = self.or_fail(ended.unwrap_or_else(|| Ok((Vec::new(), 0))));
        let histograms = Histograms::new(1, false);
        for (latency_ns, operations) in reports.iter().flat_map(|report| &report.latencies) {
            histograms.record_many(0, 0, 0, *latency_ns, *operations);
        }
        let histograms = self.or_fail(histograms.encode());
        let other = match self.port.get() {
            Some(port) => self.or_fail(afterwards::other_values(&self.job, *port)),
            None => 0,
        };
        self.job.lab.result_with(&self.values(progress, errors + other), &histograms);
        end(0)
    }

    fn values(&self, progress: Progress, wrong: u64) -> [(&'static str, u64); 7] {
        let operations = progress.operations;
        let (sets, gets) = if self.job.set_percent == 0 { (0, operations) } else { (operations, 0) };
        [
            ("operations", operations),
            ("sets", sets),
            ("gets", gets),
            ("messages", operations),
            ("bytes", operations * self.job.value_bytes as u64),
            ("wrong", wrong),
            ("connections", self.run.connections),
        ]
    }

    /// Unwraps a result; an error kills the program and prints `failed`.
    fn or_fail<T>(&self, result: Result<T, String>) -> T {
        result.unwrap_or_else(|why| {
            self.with_program(Program::kill);
            self.job.lab.failed(why)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn setup(change: &[(&str, Value)]) -> Setup {
        let mut params = json!({
            "connections": 50, "pipeline": 1, "value_bytes": 3, "keys": 1, "set_percent": 100, "distribution": "uniform", "rate": 0,
            "pacing": "spin", "seconds": 1.0, "warmup_seconds": 0.5, "verify_keys": 2,
        });
        for (name, value) in change {
            params[*name] = value.clone();
        }
        let setup = json!({
            "protocol": 1, "workload": "kv", "role": "load", "seed": 3, "local": "127.0.0.1", "peer": "127.0.0.1", "params": params,
        });
        serde_json::from_value(setup).unwrap()
    }

    #[test]
    fn unsupported_parameters_are_named() {
        let rows: [(&[(&str, Value)], Option<&str>); 8] = [
            (&[], None),
            (&[("set_percent", json!(0)), ("pipeline", json!(16))], None),
            (&[("set_percent", json!(50))], Some("set_percent=50")),
            (&[("rate", json!(1000))], Some("rate=1000")),
            (&[("distribution", json!("zipf"))], Some("distribution=zipf")),
            (&[("seconds", json!(599.6))], Some("seconds")),
            (&[("connections", json!(1000)), ("pipeline", json!(10000))], None),
            (&[("connections", json!(2000)), ("pipeline", json!(10000))], Some("connections times pipeline")),
        ];
        for (change, wanted) in rows {
            let setup = setup(change);
            let job = Job::new(Lab::for_tests(), &setup, "load");
            match (refused(&job, &setup), wanted) {
                (Ok(()), None) => {}
                (Err(message), Some(wanted)) => assert!(message.starts_with(wanted), "{message}"),
                (found, _) => panic!("{change:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_run_has_the_articles_length_or_two_hundred_rounds() {
        for (connections, pipeline, set_percent, wanted) in [
            (50, 1, 100, (10_000, 5)),
            (1, 1, 0, (10_000, 9)),
            (1000, 1, 0, (200_000, 9)),
            (50, 16, 100, (160_000, 5)),
        ] {
            let change = [
                ("connections", json!(connections)),
                ("pipeline", json!(pipeline)),
                ("set_percent", json!(set_percent)),
            ];
            let run = run_of(&Job::new(Lab::for_tests(), &setup(&change), "load"));
            assert_eq!((run.requests, run.answer_bytes), wanted);
        }
    }
}
