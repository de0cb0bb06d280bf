//! Answers `+OK` to every Redis request and does nothing else. It bounds what socket I/O alone costs.
//!
//! ```sh
//! cargo run --release -p netdyno-io --example tcp_echo -- epoll 7000     # or uring, or auto
//! redis-benchmark -p 7000 -c 50 -n 1000000 -t set
//! ```
//!
//! When its input ends, it prints how many requests it answered, in how many turns, and the CPU time per
//! request.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Read;

    use netdyno_io::tcp::{Backend, Event, Limits, ListenOptions, TcpReactor};

    pub(super) fn main() -> std::io::Result<()> {
        let mut arguments = std::env::args().skip(1);
        let backend = match arguments.next().as_deref() {
            Some("epoll") => Backend::Epoll,
            Some("uring") => Backend::Uring,
            _ => Backend::Auto,
        };
        let port: u16 = arguments.next().and_then(|port| port.parse().ok()).unwrap_or(7000);
        let mut reactor = TcpReactor::new(backend, Limits::default())?;
        reactor.listen(([127, 0, 0, 1], port).into(), &ListenOptions::default())?;
        let waker = reactor.waker();
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            waker.wake();
        });

        let (mut turns, mut requests, mut ended) = (0_u64, 0_u64, false);
        while !ended {
            reactor.wait(None)?;
            turns += 1;
            while let Some(event) = reactor.next_event() {
                match event {
                    Event::Received(key) => {
                        let (input, output) = reactor.buffers(key);
                        let mut done = 0;
                        while let Some(length) = request_length(&input[done..]) {
                            done += length;
                            requests += 1;
                            output.extend_from_slice(b"+OK\r\n");
                        }
                        reactor.consume(key, done);
                    }
                    Event::Ended(key) => reactor.close(key, true),
                    Event::Woken => ended = true,
                    _ => {}
                }
            }
            reactor.flush()?;
        }
        let (user, system) = cpu_seconds();
        let each = |seconds: f64| seconds * 1e6 / requests.max(1) as f64;
        println!(
            "{:?}: {requests} requests, {turns} turns; CPU us per request: {:.3} user + {:.3} system = {:.3}",
            reactor.backend(),
            each(user),
            each(system),
            each(user + system)
        );
        Ok(())
    }

    /// Length of the first request once it is complete: `*2\r
    /// $3\r
    /// GET\r
    /// $1\r
    /// a\r
    /// `.
    fn request_length(input: &[u8]) -> Option<usize> {
        let (parts, mut at) = number(input, 0)?;
        for _ in 0..parts {
            let (length, begin) = number(input, at)?;
            at = begin + length + 2;
        }
        (at <= input.len()).then_some(at)
    }

    /// Parses a number after one type character, and returns it with the end of its line.
    fn number(input: &[u8], at: usize) -> Option<(usize, usize)> {
        let digits = input.get(at + 1..)?;
        let length = digits.iter().position(|&byte| byte == b'\r')?;
        let value = digits[..length].iter().fold(0, |value, byte| value * 10 + usize::from(byte & 15));
        Some((value, at + 1 + length + 2))
    }

    /// User and system CPU time of this process, in the kernel's ticks of 10 ms.
    fn cpu_seconds() -> (f64, f64) {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<f64> = text.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
        (fields.get(13).unwrap_or(&0.0) / 100.0, fields.get(14).unwrap_or(&0.0) / 100.0)
    }
}
