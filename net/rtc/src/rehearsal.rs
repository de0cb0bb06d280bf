//! A connection between two local peers, in memory, before the first real one.

use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use netdyno_rtc_core::{Arena, ChannelOptions, Config, Kind, PeerConnection};

/// Maximum number of turns of a rehearsal; fewer than ten are needed.
const TURNS_MAX: usize = 100;

/// Connects two peers in memory, once per process. The first handshake of a process is slower than later
/// ones: code pages are not mapped, curve tables are not cached, and the random number generator is not
/// seeded. The outcome is ignored.
pub(crate) fn once(config: &Arc<Config>) {
    static REHEARSED: Once = Once::new();
    REHEARSED.call_once(|| {
        let _ = connect(config);
    });
}

/// Connects two peers and passes a message. `None` if that fails.
fn connect(config: &Arc<Config>) -> Option<()> {
    let mut now = Instant::now();
    let mut arena = Arena::default();
    let mut peers = [1, 2].map(|side| {
        let mut peer = PeerConnection::new(config.clone(), [side; 32], now).ok()?;
        // Addresses for documentation (RFC 5737); nothing is sent.
        peer.add_local_address(now, ([192, 0, 2, side], 9).into());
        Some(peer)
    });
    let [Some(offerer), Some(answerer)] = &mut peers else { return None };
    let channel = offerer.create_channel(now, "", ChannelOptions::default()).ok()?;
    let offer = offerer.create_offer(now, false).ok()?;
    offerer.accept_answer(now, &answerer.accept_offer(now, &offer).ok()?).ok()?;
    let sides = [offerer, answerer];
    for _ in 0..TURNS_MAX {
        now += Duration::from_millis(1);
        for side in 0..2 {
            sides[side].handle_timeout(now);
            while let Some(transmit) = sides[side].poll_transmit(now, &mut arena, 1) {
                let mut datagram = arena.filled(&transmit).to_vec();
                let (local, remote) = (transmit.remote, transmit.local);
                sides[1 - side].handle_datagrams(now, local, remote, &mut datagram, transmit.segment_bytes);
            }
            while sides[side].poll_event().is_some() {}
        }
        // Refused until the channel is open.
        let _ = sides[0].send(now, channel, Kind::Binary, b"rehearsed");
        if sides[1].recv().is_some() {
            return Some(());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use netdyno_rtc_core::Certificate;

    use super::*;

    #[test]
    fn a_rehearsal_passes_a_message() {
        let mut config = Config::new(Arc::new(Certificate::generate().unwrap()));
        assert_eq!(connect(&Arc::new(config.clone())), Some(()));
        config.ice_lite = true;
        // Two ICE-lite agents make no checks and find no path: nothing is rehearsed.
        assert_eq!(connect(&Arc::new(config)), None);
    }
}
