//! The time to connect two processes. It asserts nothing, so it is not run by default: `cargo test --release
//! --all-features --test setup -- --ignored --nocapture setup_time_of_two`. The kernel may run both on one
//! core, where nothing overlaps; use `taskset` to separate them.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::{Connection, Endpoint, Event, Kind, PeerState, Port};
use support::{On, number, percentiles, tuned};

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), tuned()).unwrap()
}

/// From the offer to the first message, with signalling over TCP; the answerer sends first, as in the lab.
#[test]
#[ignore = "a measurement"]
fn setup_time_of_two() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut answerer = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "answerer", "--nocapture"])
        .env("SIGNALING", listener.local_addr().unwrap().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut signaling = BufReader::new(listener.accept().unwrap().0);
    signaling.get_ref().set_nodelay(true).unwrap();
    let mut endpoint = endpoint();
    let (mut times, mut offers, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let pause = Duration::from_millis(number("PAUSE_MS", 5) as u64);
    for _ in 0..number("CONNECTIONS", 200) {
        thread::sleep(pause);
        let begin = Instant::now();
        let (id, offer) = endpoint.offer(Port::Own, "speed").unwrap();
        offers.push(begin.elapsed());
        tell(signaling.get_mut(), &offer);
        let answer = hear(&mut signaling).unwrap();
        answers.push(begin.elapsed());
        endpoint.connection(id).unwrap().accept_answer(&answer).unwrap();
        let heard = std::cell::Cell::new(false);
        let mut handler = On(|_: &mut Connection<'_>, _| {}, |_: &mut Connection<'_>, _| heard.set(true));
        while !heard.get() {
            endpoint.poll(None, &mut handler).unwrap();
        }
        times.push(begin.elapsed());
        endpoint.connection(id).unwrap().close();
        endpoint.poll(Some(Duration::ZERO), &mut handler).unwrap();
    }
    drop(signaling);
    answerer.wait().unwrap();
    for (what, mut times) in [("offer made", offers), ("answer there", answers), ("set up", times)] {
        times.sort_unstable();
        println!("two processes, {what}: {}", percentiles(&times));
    }
}

/// The other process of [`setup_time_of_two`]; does nothing when run alone.
#[test]
#[ignore = "a measurement"]
fn answerer() {
    let Ok(address) = std::env::var("SIGNALING") else { return };
    let mut signaling = BufReader::new(TcpStream::connect(address).unwrap());
    signaling.get_ref().set_nodelay(true).unwrap();
    let mut endpoint = endpoint();
    while let Some(offer) = hear(&mut signaling) {
        let (_, answer) = endpoint.answer(&offer).unwrap();
        tell(signaling.get_mut(), &answer);
        let over = std::cell::Cell::new(false);
        let mut handler = On(
            |connection: &mut Connection<'_>, event| match event {
                Event::Incoming(channel) => connection.send(channel, Kind::Binary, b"hello").unwrap(),
                Event::State(PeerState::Closed | PeerState::Failed) => over.set(true),
                _ => {}
            },
            |_: &mut Connection<'_>, _| {},
        );
        while !over.get() {
            endpoint.poll(None, &mut handler).unwrap();
        }
    }
}

/// Writes a description, preceded by its length.
fn tell(to: &mut TcpStream, description: &str) {
    let length = (description.len() as u32).to_be_bytes();
    to.write_all(&[&length, description.as_bytes()].concat()).unwrap();
}

/// The next description; `None` at the end.
fn hear(from: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let mut description = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut description).unwrap();
    Some(String::from_utf8(description).unwrap())
}
