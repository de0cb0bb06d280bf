//! Performance on the loopback interface, with two threads. It asserts nothing, so it is not run by default:
//! `cargo test --release --all-features --test speed -- --ignored --nocapture --test-threads 1`. Environment
//! variables change the load; their names and defaults are below.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::{
    ChannelId, ChannelOptions, Connection, Endpoint, Event, Handler, Kind, Message, Port, Reactors, blocking,
};
use support::{On, Source, number, percentiles, processor_seconds, tuned};

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), tuned()).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    let (connections, message_bytes) = (number("CONNECTIONS", 10), number("MESSAGE_BYTES", 1024));
    let seconds = number("SECONDS", 5) as u64;
    let mut source = Source { message: vec![7; message_bytes], high_bytes: number("BUFFERED", 256 << 10) };
    let (stop, received, messages) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (offers, incoming) = mpsc::channel::<String>();
    let (answers, outgoing) = mpsc::channel::<String>();
    let (stop, received, messages) = (&stop, &received, &messages);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut endpoint = endpoint();
            for offer in incoming {
                answers.send(endpoint.answer(&offer).unwrap().1).unwrap();
            }
            let mut handler = On(
                |_: &mut Connection<'_>, event| assert!(!matches!(event, Event::Failed(_)), "{event:?}"),
                |_: &mut Connection<'_>, message: Message| {
                    received.fetch_add(message.data.len() as u64, Ordering::Relaxed);
                    messages.fetch_add(1, Ordering::Relaxed);
                },
            );
            while !stop.load(Ordering::Relaxed) {
                endpoint.poll(Some(Duration::from_millis(100)), &mut handler).unwrap();
            }
        });
        scope.spawn(move || {
            let mut endpoint = endpoint();
            let mut ids = Vec::new();
            for _ in 0..connections {
                let (id, offer) = endpoint.offer(Port::Own, "speed").unwrap();
                offers.send(offer).unwrap();
                endpoint.connection(id).unwrap().accept_answer(&outgoing.recv().unwrap()).unwrap();
                ids.push(id);
            }
            drop(offers);
            let begin = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                endpoint.poll(Some(Duration::from_millis(100)), &mut source).unwrap();
            }
            for (number, id) in ids.into_iter().enumerate() {
                // The other endpoint may have ended first.
                let Some(connection) = endpoint.connection(id) else { continue };
                let stats = connection.stats();
                let packets = stats.packets_sent as f64 / begin.elapsed().as_secs_f64();
                if number < 2 {
                    println!("connection {number}: {packets:.0} packets/s, {:?}", stats.sctp);
                }
            }
        });
        thread::sleep(Duration::from_secs(1));
        let count = || (received.load(Ordering::Relaxed), messages.load(Ordering::Relaxed));
        let (before, cpu, begin) = (count(), processor_seconds("self"), Instant::now());
        thread::sleep(Duration::from_secs(seconds));
        let (after, cpu, spent) = (count(), processor_seconds("self") - cpu, begin.elapsed().as_secs_f64());
        stop.store(true, Ordering::Relaxed);
        println!(
            "{connections} connections, {message_bytes} B: {:.1} MB/s, {:.0} messages/s, {:.0} ns of both cores each",
            (after.0 - before.0) as f64 / spent / 1e6,
            (after.1 - before.1) as f64 / spent,
            cpu * 1e9 / (after.1 - before.1) as f64
        );
    });
}

/// Sends on its offered connections, and counts what arrives on its answered ones.
struct Both {
    source: Source,
    received: &'static AtomicU64,
}

impl Handler for Both {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        // On answered connections no `Open` is raised: the peer created the channel.
        self.source.on_event(connection, event);
    }

    fn on_message(&mut self, _: &mut Connection<'_>, message: Message) {
        self.received.fetch_add(message.data.len() as u64, Ordering::Relaxed);
    }
}

/// Both ends of ten connections per reactor, within that reactor. Each reactor fills a core, and `REACTORS`
/// of them achieve that many times the throughput of one unless they share something.
#[test]
#[ignore = "a measurement"]
fn reactors() {
    let mut settings = tuned();
    settings.reactors = number("REACTORS", 1);
    settings.one_port = number("ONE_PORT", 0) == 1;
    settings.steering_sockets = number("STEERING_SOCKETS", settings.steering_sockets);
    let (connections, seconds) = (number("CONNECTIONS", 10), number("SECONDS", 3) as u64);
    let received: Vec<&'static AtomicU64> =
        (0..settings.reactors).map(|_| &*Box::leak(Box::new(AtomicU64::new(0)))).collect();
    let make = |number: usize| Both {
        source: Source { message: vec![7; 1024], high_bytes: 256 << 10 },
        received: received[number],
    };
    let reactors = Reactors::start("127.0.0.1:0".parse().unwrap(), &settings, make).unwrap();
    for reactor in 0..settings.reactors {
        for _ in 0..connections {
            let connected = reactors.run(reactor, |endpoint, _| {
                let (id, offer) = endpoint.offer(Port::Own, "speed")?;
                let (_, answer) = endpoint.answer(&offer)?;
                endpoint.connection(id).unwrap().accept_answer(&answer)?;
                Ok::<_, netdyno_rtc::Error>(())
            });
            connected.unwrap().unwrap();
        }
    }
    thread::sleep(Duration::from_secs(1));
    let count = || received.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let (before, cpu, begin) = (count(), processor_seconds("self"), Instant::now());
    thread::sleep(Duration::from_secs(seconds));
    let (after, cpu, spent) = (count(), processor_seconds("self") - cpu, begin.elapsed().as_secs_f64());
    let rates: Vec<f64> =
        before.iter().zip(&after).map(|(before, after)| (after - before) as f64 / spent / 1e6).collect();
    println!(
        "{} reactors: {:.1} MB/s in all, {rates:.1?} each, {:.2} cores",
        settings.reactors,
        rates.iter().sum::<f64>(),
        cpu / spent
    );
}

#[test]
#[ignore = "a measurement"]
fn setup_time() {
    let (mut client, mut server) = (endpoint(), endpoint());
    let mut times = Vec::new();
    for _ in 0..number("CONNECTIONS", 200) {
        let begin = Instant::now();
        let (id, offer) = client.offer(Port::Own, "speed").unwrap();
        let (_, answer) = server.answer(&offer).unwrap();
        client.connection(id).unwrap().accept_answer(&answer).unwrap();
        let (opened, heard) = (std::cell::Cell::new(false), std::cell::Cell::new(false));
        let mut on_client = On(
            |connection: &mut Connection<'_>, event| {
                if let Event::Open(channel) = event {
                    opened.set(true);
                    connection.send(channel, Kind::Binary, b"first").unwrap();
                }
            },
            |_: &mut Connection<'_>, _| {},
        );
        let mut on_server = On(|_: &mut Connection<'_>, _| {}, |_: &mut Connection<'_>, _| heard.set(true));
        while !(opened.get() && heard.get()) {
            client.poll(Some(Duration::ZERO), &mut on_client).unwrap();
            server.poll(Some(Duration::ZERO), &mut on_server).unwrap();
        }
        times.push(begin.elapsed());
        client.connection(id).unwrap().close();
    }
    times.sort_unstable();
    println!("offer to first message, one thread: {}", percentiles(&times));
}

#[test]
#[ignore = "a measurement"]
fn round_trips() {
    let settings = tuned();
    let bind = || blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings.clone()).unwrap();
    let (here, there) = (bind(), bind());
    let offerer = blocking::PeerConnection::new(&here).unwrap();
    let answerer = blocking::PeerConnection::new(&there).unwrap();
    let channel = offerer.create_channel("speed", ChannelOptions::default()).unwrap();
    let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
    offerer.accept_answer(&answer).unwrap();
    let other = answerer.accept_channel().unwrap();
    thread::spawn(move || while other.recv().is_ok_and(|message| other.send(&message.data).is_ok()) {});
    let mut times = Vec::new();
    for _ in 0..20_000 {
        let begin = Instant::now();
        channel.send(&[0; 64]).unwrap();
        channel.recv().unwrap();
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    println!("64 B round trip, blocking interface: {}", percentiles(&times));
}

#[test]
#[ignore = "a measurement"]
fn blocking_throughput() {
    let batch = number("BATCH", 1);
    let (message_bytes, seconds) = (number("MESSAGE_BYTES", 1024), number("SECONDS", 3) as u64);
    let settings = tuned();
    let bind = || blocking::Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings.clone()).unwrap();
    let (here, there) = (bind(), bind());
    let offerer = blocking::PeerConnection::new(&here).unwrap();
    let answerer = blocking::PeerConnection::new(&there).unwrap();
    let channel = offerer.create_channel("speed", ChannelOptions::default()).unwrap();
    let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
    offerer.accept_answer(&answer).unwrap();
    let other = answerer.accept_channel().unwrap();
    let messages = vec![vec![7; message_bytes]; batch];
    thread::spawn(move || while channel.send_many(Kind::Binary, &messages).is_ok() {});
    let (begin, mut bytes, mut received) = (Instant::now(), 0, Vec::new());
    while begin.elapsed() < Duration::from_secs(seconds) {
        other.recv_many(&mut received, 256).unwrap();
        bytes += received.drain(..).map(|message| message.data.len()).sum::<usize>();
    }
    let rate = bytes as f64 / begin.elapsed().as_secs_f64() / 1e6;
    println!("blocking interface, {batch} messages a call, {message_bytes} B: {rate:.1} MB/s");
}

/// The other end of [`memory`], in a separate process: answers one offer per line and reads everything.
#[test]
#[ignore = "the other end of a measurement"]
fn memory_answerer() {
    let (offers, incoming) = mpsc::channel::<String>();
    thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let _ = offers.send(line.unwrap().replace('|', "\r\n"));
        }
        std::process::exit(0);
    });
    let mut endpoint = endpoint();
    let mut handler = On(|_: &mut Connection<'_>, _| {}, |_: &mut Connection<'_>, _| {});
    loop {
        endpoint.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
        for offer in incoming.try_iter() {
            println!("answer {}", endpoint.answer(&offer).unwrap().1.replace("\r\n", "|"));
        }
    }
}

/// Memory of a sender whose channels are kept full, beyond the payload in them.
#[test]
#[ignore = "a measurement"]
fn memory() {
    let (connections, message_bytes) = (number("CONNECTIONS", 1000), number("MESSAGE_BYTES", 64));
    let mut source = Source { message: vec![7; message_bytes], high_bytes: number("BUFFERED", 1 << 20) };
    let mut answerer = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "memory_answerer"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut offers = answerer.stdin.take().unwrap();
    let mut lines = BufReader::new(answerer.stdout.take().unwrap()).lines();
    let mut endpoint = endpoint();
    let (before, mut ids) = (resident_bytes(), Vec::new());
    for _ in 0..connections {
        let (id, offer) = endpoint.offer(Port::Own, "speed").unwrap();
        writeln!(offers, "{}", offer.replace("\r\n", "|")).unwrap();
        let answer = lines.find_map(|line| Some(line.unwrap().split_once("answer ")?.1.replace('|', "\r\n")));
        endpoint.connection(id).unwrap().accept_answer(&answer.unwrap()).unwrap();
        ids.push(id);
    }
    let (begin, mut looked) = (Instant::now(), Instant::now());
    let (mut most, mut resident) = ((0, 0), 0);
    while begin.elapsed() < Duration::from_secs(number("SECONDS", 6) as u64) {
        endpoint.poll(Some(Duration::from_millis(10)), &mut source).unwrap();
        // Checking all channels would take longer than it matters.
        if looked.elapsed() > Duration::from_micros(10) * connections as u32 {
            looked = Instant::now();
            let (mut waiting, mut in_flight) = (0, 0);
            for &id in &ids {
                let connection = endpoint.connection(id).unwrap();
                waiting += connection.buffered_amount(ChannelId(0));
                // Without I-DATA headers.
                in_flight += connection.stats().sctp.in_flight_bytes * message_bytes / (message_bytes + 20);
            }
            most = most.max((waiting + in_flight, in_flight));
            resident = resident.max(resident_bytes() - before);
        }
    }
    println!(
        "{connections} connections, {message_bytes} B: {} MB resident, {} MB buffered at the most, {} of them in flight: {:.2} times",
        resident / 1_000_000,
        most.0 / 1_000_000,
        most.1 / 1_000_000,
        resident as f64 / most.0 as f64
    );
    answerer.kill().unwrap();
    answerer.wait().unwrap();
}

#[test]
#[ignore = "a measurement"]
fn pings_of_many() {
    let connections = number("CONNECTIONS", 1000);
    let stop = AtomicBool::new(false);
    let (offers, incoming) = mpsc::channel::<String>();
    let (answers, outgoing) = mpsc::channel::<String>();
    let stop = &stop;
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut endpoint = endpoint();
            let mut handler = On(
                |_: &mut Connection<'_>, _| {},
                |connection: &mut Connection<'_>, message: Message| {
                    let _ = connection.send(message.channel, message.kind, &message.data);
                },
            );
            while !stop.load(Ordering::Relaxed) {
                endpoint.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
                if let Ok(offer) = incoming.try_recv() {
                    answers.send(endpoint.answer(&offer).unwrap().1).unwrap();
                }
            }
        });
        let mut endpoint = endpoint();
        let (zero, mut ids) = (Instant::now(), Vec::new());
        let (opened, times) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
        let mut handler = On(
            |_: &mut Connection<'_>, event| {
                opened.set(opened.get() + usize::from(matches!(event, Event::Open(_))))
            },
            |_: &mut Connection<'_>, message: Message| {
                let sent = u64::from_be_bytes(message.data[..8].try_into().unwrap());
                times.borrow_mut().push(zero.elapsed() - Duration::from_nanos(sent));
            },
        );
        let before = resident_bytes();
        for _ in 0..connections {
            let (id, offer) = endpoint.offer(Port::Own, "speed").unwrap();
            offers.send(offer).unwrap();
            endpoint.connection(id).unwrap().accept_answer(&outgoing.recv().unwrap()).unwrap();
            endpoint.poll(Some(Duration::ZERO), &mut handler).unwrap();
            ids.push(id);
        }
        while opened.get() < connections {
            endpoint.poll(Some(Duration::from_millis(1)), &mut handler).unwrap();
        }
        println!("{connections} connections in {:?}", zero.elapsed());
        // Memory needed for set-up is released after a second without data.
        let idle = Instant::now();
        while idle.elapsed() < Duration::from_secs(3) {
            endpoint.poll(Some(Duration::from_millis(10)), &mut handler).unwrap();
        }
        let grown = resident_bytes().saturating_sub(before);
        println!(
            "idle: {} bytes of resident memory a connection (both ends are here)",
            grown / (2 * connections)
        );
        // Each pings every 100 ms, evenly spread.
        let (begin, step) = (Instant::now(), Duration::from_millis(100) / connections as u32);
        let (mut next, mut message) = (0_u32, [0; 64]);
        while begin.elapsed() < Duration::from_secs(5) {
            while step * next <= begin.elapsed() {
                message[..8].copy_from_slice(&(zero.elapsed().as_nanos() as u64).to_be_bytes());
                let id = ids[next as usize % connections];
                endpoint.connection(id).unwrap().send(ChannelId(0), Kind::Binary, &message).unwrap();
                next += 1;
            }
            endpoint
                .poll((begin + step * next).checked_duration_since(Instant::now()), &mut handler)
                .unwrap();
        }
        let end = Instant::now();
        while end.elapsed() < Duration::from_millis(500) {
            endpoint.poll(Some(Duration::from_millis(10)), &mut handler).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        let mut times = times.into_inner();
        times.sort_unstable();
        println!("{} pings of {next}: {}", times.len(), percentiles(&times));
    });
}

/// Resident memory of this process.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
