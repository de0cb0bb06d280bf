//! Associations on a bad network: their guarantees hold for thousands of seeds.
#![allow(missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, Config, Ppid, Reliability, SendOptions, StreamId};
use netdyno_sim::contract::disturb;
use netdyno_sim::random::{Purpose, Random, generator, seed_bytes};
use netdyno_sim::sctp::{Action, Plan, Planned, SctpCore, run, run_plan, run_restart};
use netdyno_sim::seeds::check_seeds;
use netdyno_sim::{Core, Outgoing, Profile, Side};
use rand::RngExt;

#[test]
fn associations_keep_their_guarantees() {
    check_seeds("--test sctp associations", 3000, |seed| run(seed).map(|_| ()));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    check_seeds("--test sctp same_seed", 60, |seed| {
        let (first, second) = (run(seed)?, run(seed)?);
        assert_eq!(first, second);
        Ok(())
    });
}

#[test]
fn restarts_are_handled() {
    check_seeds("--test sctp anew", 200, run_restart);
}

/// More ordered messages on one stream than there are SSNs, over a network with loss: either all reliable, as
/// many in flight as the windows allow, or none reliable, one at a time.
#[test]
fn stream_sequence_numbers_wrap() {
    for (seed, interleaving, reliability, apart) in [
        (1, false, Reliability::Reliable, Duration::ZERO),
        (2, false, Reliability::MaxRetransmits(0), Duration::from_micros(100)),
        (3, true, Reliability::Reliable, Duration::ZERO),
    ] {
        let mut plan =
            Plan::draw(seed).on(Profile { loss: 0.01, rate: None, ..Profile::named("lan").unwrap() });
        for config in &mut plan.configs {
            *config = Config::default();
            config.interleaving = interleaving;
        }
        let options = SendOptions { unordered: false, reliability };
        let planned = Planned { stream: StreamId(1), bytes: 30, options };
        plan.actions = (0..70_000).map(|at| (at * apart, Side::A, Action::Send(planned))).collect();
        plan.heals_at = Duration::from_secs(60);
        let outcome = run_plan(seed, plan)
            .unwrap_or_else(|failure| panic!("{interleaving}, {reliability:?}: {failure}"));
        assert!(outcome.messages > 68_000, "{outcome:?}");
    }
}

#[test]
fn any_order_of_calls_is_legal() {
    check_seeds("--test sctp any_order", 1000, |seed| {
        let (start, mut random) = (Instant::now(), generator(seed, Purpose::Run));
        let mut config = Config::default();
        config.max_packet_bytes = if random.random_bool(0.5) { 4000 } else { config.packet_bytes };
        config.interleaving = random.random_bool(0.5);
        let config = Arc::new(config);
        let mut cores = Side::BOTH.map(|_| SctpCore {
            association: Association::new(config.clone(), seed_bytes(&mut random), start).unwrap(),
            max_packet_bytes: config.max_packet_bytes,
        });
        if random.random_bool(0.8) {
            connect(&mut cores, start);
        }
        disturb(&mut cores, &mut random, start, 400, command)
    });
}

/// Opens the association, without losses.
fn connect(cores: &mut [SctpCore; 2], now: Instant) {
    cores[0].association.connect(now);
    let mut out = Outgoing::default();
    for turn in 0..8 {
        while cores[turn % 2].poll_transmit(now, &mut out) {
            out.datagrams()
                .for_each(|datagram| cores[(turn + 1) % 2].association.handle_packet(now, datagram));
        }
    }
}

/// One of the association's commands, with valid or invalid arguments.
fn command(core: &mut SctpCore, random: &mut Random, now: Instant) {
    let association = &mut core.association;
    let stream = StreamId(if random.random_bool(0.9) { random.random_range(0..4) } else { random.random() });
    match random.random_range(0..60) {
        0..20 => {
            let reliability =
                [Reliability::Reliable, Reliability::MaxRetransmits(1)][random.random_range(0..2)];
            let options = SendOptions { unordered: random.random_bool(0.5), reliability };
            let message = vec![1; [0, 1, 1000, 20_000, 300_000][random.random_range(0..5)]];
            // The result does not matter: the association may not be open.
            let _ = association.send(now, stream, Ppid(53), &message, options);
        }
        20..35 => drop(association.recv()),
        35..50 => drop(association.poll_event()),
        50 | 51 => drop(association.reset_streams(&[stream])),
        52 => drop(association.reset_streams(&[])),
        53 => association.connect(now),
        54 => association.set_priority(stream, random.random()),
        55 => association.set_buffered_amount_low_threshold(stream, random.random_range(0..100_000)),
        56 => association.set_max_send_message_bytes(random.random_range(0..400_000)),
        57 if random.random_bool(0.05) => association.shutdown(now),
        58 if random.random_bool(0.02) => association.abort(now, "tired"),
        _ => drop(association.stats()),
    }
}
