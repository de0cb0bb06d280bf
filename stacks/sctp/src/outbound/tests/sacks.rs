//! Contents of SACKs and their effects.

use super::*;

/// Six chunks are in flight, the first two acknowledged.
fn rig(initial_tsn: Tsn) -> Rig {
    let mut rig = Rig::with(&Config::default(), initial_tsn, peer());
    (0..6).for_each(|_| rig.send(1, &[7; 1000]));
    assert_eq!(rig.packets().len(), 6);
    rig.sack(2, &[], BIG_WINDOW).unwrap();
    rig
}

#[test]
fn which_are_taken() {
    for (chunks, gaps, outstanding) in [
        // Nothing new.
        (2, &[][..], Some(4)),
        // Older: overtaken by a newer one, whatever it says.
        (1, &[], Some(4)),
        (0, &[(2, 6)], Some(4)),
        (5, &[], Some(1)),
        (6, &[], Some(0)),
        // Beyond what was sent.
        (7, &[], None),
        (1 << 30, &[], None),
        // Gaps: offsets from the cumulative TSN, 1 being the first that is missing.
        (2, &[(2, 2)], Some(3)),
        (2, &[(2, 4)], Some(1)),
        (2, &[(2, 2), (4, 4)], Some(2)),
        (2, &[(2, 5)], None),
        (2, &[(2, 2), (5, 5)], None),
        (2, &[(65_535, 65_535)], None),
        // Blocks that break a rule are left out.
        (2, &[(1, 3)], Some(4)),
        (2, &[(3, 2)], Some(4)),
        (2, &[(4, 4), (2, 3)], Some(3)),
        (6, &[(2, 2)], None),
    ] {
        // The same around the wrap of TSNs.
        for tsn in [1000, u32::MAX - 3, i32::MAX as u32 - 1] {
            let mut rig = rig(Tsn(tsn));
            let result = rig.sack(chunks, gaps, BIG_WINDOW);
            let left = result.ok().map(|()| rig.out.flight.outstanding() + lost(&rig));
            assert_eq!(left, outstanding, "{chunks} {gaps:?} at {tsn}");
        }
    }
}

fn lost(rig: &Rig) -> usize {
    rig.out.flight.len() - rig.out.flight.outstanding() - rig.settled()
}

impl Rig {
    /// Chunks in flight that the peer has.
    fn settled(&self) -> usize {
        (self.out.flight.base()..self.out.flight.next())
            .filter(|&seq| self.out.flight.is_settled(seq))
            .count()
    }
}

#[test]
fn the_first_sack_may_acknowledge_nothing() {
    let mut rig = Rig::new();
    rig.send(1, b"one");
    rig.packets();
    rig.sack(0, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.cumulative_tsn_acked(), FIRST_TSN.previous());
    assert_eq!(rig.out.next_tsn(), FIRST_TSN.next());
}

#[test]
fn payload_is_kept_until_it_is_acknowledged_cumulatively() {
    let mut rig = rig(FIRST_TSN);
    let held = rig.out.held;
    rig.sack(2, &[(2, 4)], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.held, held);
    rig.sack(6, &[], BIG_WINDOW).unwrap();
    assert_eq!(rig.out.held, 0);
    assert!(rig.out.is_drained());
}

#[test]
fn a_gap_that_is_told_again_is_no_news() {
    let mut rig = rig(FIRST_TSN);
    rig.wait(ms(10));
    rig.sack(2, &[(3, 4)], BIG_WINDOW).unwrap();
    let (smoothed, window) = (rig.out.rtt.smoothed(), rig.out.stats().congestion_window_bytes);
    rig.wait(ms(5));
    (0..50).for_each(|_| rig.sack(2, &[(3, 4)], BIG_WINDOW).unwrap());
    assert_eq!(rig.out.rtt.smoothed(), smoothed);
    assert_eq!(rig.out.stats().congestion_window_bytes, window);
}

#[test]
fn only_so_many_gap_blocks_are_believed() {
    let mut config = Config::default();
    config.limits.max_gap_blocks = 2;
    let mut rig = Rig::with(&config, FIRST_TSN, peer());
    (0..9).for_each(|_| rig.send(1, &[7; 1000]));
    rig.packets();
    rig.sack(0, &[(2, 2), (4, 4), (6, 6)], BIG_WINDOW).unwrap();
    assert_eq!(rig.settled(), 2);
}

#[test]
fn chunks_in_flight_are_limited() {
    let mut config = Config::default();
    config.limits.max_in_flight_chunks = 5;
    let mut rig = Rig::with(&config, FIRST_TSN, peer());
    (0..20).for_each(|_| rig.send(1, b"tiny"));
    rig.packets();
    assert_eq!(rig.out.flight.len(), 5);
    rig.drain();
}

#[test]
fn the_peers_window_is_kept() {
    let mut rig = Rig::with(&Config::default(), FIRST_TSN, Peer { window_bytes: 3500, ..peer() });
    (0..9).for_each(|_| rig.send(1, &[7; 1000]));
    assert_eq!(rig.packets().len(), 3);
    // Two have arrived, and the application has not taken them.
    rig.sack(2, &[], 1500).unwrap();
    assert_eq!(rig.packets().len(), 0);
    rig.sack(3, &[], 2500).unwrap();
    assert_eq!(rig.packets().len(), 2);
    assert_eq!(rig.out.stats().peer_window_bytes, 2500);
}

#[test]
fn a_shutdown_acknowledges_too() {
    let mut rig = rig(FIRST_TSN);
    let window = rig.out.window;
    rig.out.handle_cumulative_tsn(rig.now, FIRST_TSN.add(3)).unwrap();
    assert_eq!((rig.out.flight.len(), rig.out.window), (2, window));
    rig.out.handle_cumulative_tsn(rig.now, FIRST_TSN.add(6)).unwrap_err();
}
