//! The state that is shared with the lab's thread: orders, counters and histograms.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use netdyno_contender::kv::Job;
use netdyno_contender::{Event, Histograms, Phase, Setup, end, now_ns};
use serde_json::Value;

use crate::lane::{Tally, Times};

/// The value of a time that has not been reached.
const NEVER: u64 = u64::MAX;

/// An order to the thread that generates the load.
#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    /// The server has signalled its port.
    Connect {
        port: u16,
    },
    Verify,
    /// Start the load. Contains the time of the order.
    Load {
        t0_ns: u64,
    },
}

/// The state that both threads share.
#[derive(Debug)]
pub struct Books {
    pub job: Job,
    orders: (Mutex<Sender<Order>>, Mutex<Option<Receiver<Order>>>),
    sets: AtomicU64,
    gets: AtomicU64,
    wrong: AtomicU64,
    connections: AtomicU64,
    measure_ns: AtomicU64,
    histograms: Histograms,
}

impl Books {
    pub fn new(lab: netdyno_contender::Lab, setup: &Setup) -> Self {
        let job = Job::new(lab, setup, "load");
        let (sender, receiver) = channel();
        Self {
            histograms: Histograms::new(1, job.rate > 0),
            job,
            orders: (Mutex::new(sender), Mutex::new(Some(receiver))),
            sets: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            measure_ns: AtomicU64::new(NEVER),
        }
    }

    /// Returns the queue of orders. Call it once.
    pub fn orders(&self) -> Receiver<Order> {
        let mut receiver = self.orders.1.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.take().expect("orders is called once, in main")
    }

    pub fn handle(&self, event: Event) {
        let lab = self.job.lab;
        let order = match event {
            Event::Signal { body, .. } => match body.get("port").and_then(Value::as_u64).map(u16::try_from) {
                Some(Ok(port)) => Order::Connect { port },
                _ => lab.failed(format!("signal without a port: {body}")),
            },
            Event::Start(Phase::Verify) => Order::Verify,
            Event::Start(Phase::Warmup) => Order::Load { t0_ns: now_ns() },
            Event::Start(Phase::Measure) => return self.measure_ns.store(now_ns(), Relaxed),
            Event::Mark { id } => return lab.counters(id, &self.values()),
            Event::Stop => {
                let values = self.values();
                match self.histograms.encode() {
                    Ok(histograms) => lab.result_with(&values, &histograms),
                    Err(reason) => lab.failed(reason),
                }
                end(0);
            }
        };
        let orders = self.orders.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The load reads no orders while it runs: the lab sends none then.
        if orders.send(order).is_err() {
            lab.failed("unexpected order from the lab");
        }
    }

    pub fn connected(&self, setup_ns: &[u64]) {
        self.connections.store(setup_ns.len() as u64, Relaxed);
        self.job.lab.connected(setup_ns);
    }

    /// Publishes the current counters.
    #[inline]
    pub fn publish(&self, tally: &Tally) {
        self.sets.store(tally.sets, Relaxed);
        self.gets.store(tally.gets, Relaxed);
        self.wrong.store(tally.wrong, Relaxed);
    }

    /// Records answers that arrived at `at_ns` to requests with these times, if that is within the window.
    #[inline]
    pub fn record(&self, times: Times, at_ns: u64, answers: u64) {
        let elapsed_ns = at_ns.checked_sub(self.measure_ns.load(Relaxed));
        if elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns < self.job.window_ns) {
            self.histograms.record_many(0, times.due_ns, times.sent_ns, at_ns, answers);
        }
    }

    fn values(&self) -> [(&'static str, u64); 7] {
        let (sets, gets) = (self.sets.load(Relaxed), self.gets.load(Relaxed));
        let operations = sets + gets;
        [
            ("operations", operations),
            ("sets", sets),
            ("gets", gets),
            ("messages", operations),
            ("bytes", operations * self.job.value_bytes as u64),
            ("wrong", self.wrong.load(Relaxed)),
            ("connections", self.connections.load(Relaxed)),
        ]
    }
}
