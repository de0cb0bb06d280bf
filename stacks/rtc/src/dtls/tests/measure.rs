//! Costs. Run with `--release -- --ignored --nocapture measure`.

use std::hint::black_box;

use super::*;

/// Nanoseconds per call: the minimum of several runs.
fn nanoseconds(times: u32, mut call: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        (0..times).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(times)
    };
    (0..7).map(run).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "measures"]
fn measure_records() {
    for versions in [Versions::Only12, Versions::Only13] {
        measure_records_of(versions);
    }
}

fn measure_records_of(versions: Versions) {
    let mut net = connected_with(versions);
    for length in [64, 1110, 16_384] {
        let mut buffer = vec![7; length + net.a.dtls.overhead()];
        let seal = nanoseconds(20_000, || {
            black_box(net.a.dtls.seal(black_box(&mut buffer), length));
        });
        // A receiver whose window has moved as far as possible.
        let mut net = connected_with(versions);
        // Encrypted first, then decrypted, in batches that stay in the cache.
        let mut open = f64::INFINITY;
        for _ in 0..300 {
            let mut batch: Vec<_> = (0..64).map(|_| net.a.data(&vec![7; length])).collect();
            let start = Instant::now();
            let mut bytes = 0;
            for datagram in &mut batch {
                net.b.dtls.handle_datagram(net.now, datagram, &mut |text| bytes += text.len());
            }
            open = open.min(start.elapsed().as_nanos() as f64 / 64.0);
            assert_eq!(bytes, 64 * length);
        }
        println!("{versions:?}, {length} B: seal {seal:.0} ns, open {open:.0} ns");
    }
}

#[test]
#[ignore = "measures"]
fn measure_handshake() {
    let certificate = nanoseconds(5, || drop(black_box(Certificate::generate())));
    println!("certificate and settings: {:.0} us", certificate / 1000.0);
    LazyLock::force(&CERTIFICATES);
    for versions in [Versions::Only12, Versions::Only13, Versions::Both] {
        let handshake = nanoseconds(100, || drop(black_box(connected_with(versions))));
        println!("handshake, both sides, {versions:?}: {:.0} us", handshake / 1000.0);
    }
    let now = Instant::now();
    println!(
        "server made: {:.1} us",
        nanoseconds(1000, || drop(black_box(ours(Role::Server, now)))) / 1000.0
    );
    println!(
        "client made: {:.1} us",
        nanoseconds(1000, || drop(black_box(ours(Role::Client, now)))) / 1000.0
    );
}

#[test]
#[ignore = "measures"]
fn measure_memory() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
    };
    drop(connected());
    let versions = if std::env::var("DTLS").is_ok_and(|wanted| wanted == "12") {
        Versions::Only12
    } else {
        Versions::Both
    };
    // The test's network is dropped, so that only the memory of a connection counts.
    let mut before = 0;
    let mut kept = Vec::new();
    for index in 0..4200 {
        if index == 200 {
            before = resident();
        }
        let mut net = connected_with(versions);
        let data = net.a.data(b"the client has finished");
        net.b.receive(net.now, data);
        // Includes its ACK.
        while let Some(datagram) = net.b.transmit() {
            net.a.receive(net.now, datagram);
        }
        kept.push((net.a.dtls, net.b.dtls));
    }
    println!(
        "a connection, {versions:?}: {} B, of them inline {}",
        (resident() - before) / 8000,
        size_of::<Dtls>()
    );
}
