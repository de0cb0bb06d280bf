//! A virtual home of 1,000 nodes: all are discovered, and polling them costs little.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use netdyno_echonet::core::{ControllerEvent, Epc, NodeAddress, Request};
use netdyno_echonet::{Controller, Home, Settings, Spread};
use support::{LIGHT, alone, at, config, light_of};

const NODES: u16 = 1000;
/// The polling interval of each node, and the share of a core that polling may take.
const PERIOD: Duration = Duration::from_secs(10);
const CPU_PERCENT_MAX: f64 = 5.0;

fn address(number: u16) -> IpAddr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + u32::from(number)).into()
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Serves the home in a separate thread.
fn serve() -> (std::thread::JoinHandle<Duration>, netdyno_echonet::Waker) {
    let nodes = (0..NODES).map(|number| (Some(address(number)), light_of(number))).collect();
    let mut home = Home::open(&Settings::on("lo"), nodes, Spread::default()).unwrap();
    let waker = home.waker();
    let serve = move || {
        while home.poll(None).unwrap().is_some() {}
        cpu()
    };
    (std::thread::spawn(serve), waker)
}

fn find(controller: &mut Controller) -> Duration {
    let begin = Instant::now();
    controller.search();
    while controller.core().nodes().filter(|(_, node)| !node.instances().is_empty()).count()
        < usize::from(NODES)
    {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} found", controller.core().nodes().count());
        controller.poll(Some(Duration::from_millis(100))).unwrap();
    }
    begin.elapsed()
}

/// Reads from all nodes, spread over the period; returns the numbers of answers and losses.
fn poll_all(controller: &mut Controller, period: Duration, rounds: u32) -> (u32, u32) {
    let (mut answered, mut lost) = (0, 0);
    let begin = Instant::now();
    let nodes: Vec<NodeAddress> = controller.core().nodes().map(|(node, _)| node).collect();
    let gap = period / NODES.into();
    let mut next = 0;
    let mut under_way = HashMap::new();
    let total = NODES as u32 * rounds;
    while answered + lost < total {
        while next < total && begin.elapsed() >= gap * next {
            let node = nodes[next as usize % nodes.len()];
            let id = controller.begin(node, LIGHT, Request::Get(&[Epc(0x80), Epc(0xB0)])).unwrap();
            under_way.insert(id, node);
            next += 1;
        }
        let due = (gap * next).saturating_sub(begin.elapsed());
        if let Some(ControllerEvent::Answer { id, result, .. }) = controller.poll(Some(due)).unwrap() {
            assert!(under_way.remove(&id).is_some());
            match result {
                Ok(answer) if answer.get(Epc(0xB0)) == Some(&[100]) => answered += 1,
                _ => lost += 1,
            }
        }
        assert!(begin.elapsed() < period * rounds + Duration::from_secs(60));
    }
    (answered, lost)
}

#[test]
fn a_thousand_nodes_are_found_and_polled() {
    alone("a_thousand_nodes_are_found_and_polled", || {
        let (served, waker) = serve();
        let mut controller = Controller::open(&at("127.0.0.1"), config()).unwrap();
        let found = find(&mut controller);
        assert_eq!(controller.core().nodes().count(), usize::from(NODES));
        // A tenth of the period: ten times the rate.
        let before = cpu();
        let (answered, lost) = poll_all(&mut controller, PERIOD / 10, 2);
        let ours = cpu() - before;
        println!("found in {found:?}; {answered} answers, {lost} lost, {ours:?} of CPU");
        assert_eq!((answered, lost), (u32::from(NODES) * 2, 0));
        waker.wake();
        served.join().unwrap();
    });
}

/// The figures of docs/ECHONET.md: `cargo test --release -p netdyno-echonet --test home -- --ignored --nocapture`.
#[test]
#[ignore = "measures, for 30 seconds"]
fn what_a_thousand_nodes_cost() {
    alone("what_a_thousand_nodes_cost", || {
        let (served, waker) = serve();
        let mut controller = Controller::open(&at("127.0.0.1"), config()).unwrap();
        let found = find(&mut controller);
        let (before, begin) = (cpu(), Instant::now());
        let (answered, lost) = poll_all(&mut controller, PERIOD, 3);
        let (ours, elapsed) = (cpu() - before, begin.elapsed());
        waker.wake();
        let theirs = served.join().unwrap();
        let percent = 100.0 * ours.as_secs_f64() / elapsed.as_secs_f64();
        println!("found in {found:?}; {answered} answers and {lost} lost in {elapsed:?}");
        println!(
            "controller: {ours:?} of CPU, {percent:.2} % of a core; home, announcements and search too: {theirs:?}"
        );
        assert!(percent < CPU_PERCENT_MAX && lost == 0);
    });
}
