//! Limits checks to unproven addresses, over all connections. The peer that makes an offer chooses them, and they
//! may belong to a third party.

use netdyno_rtc_core::PeerState;

use super::state::Engine;
use crate::limits::STRANGERS_CHECKED_MAX;

impl Engine {
    /// Whether a connection may send one more check to an unproven address. The more it has sent, the more it
    /// must leave to others. A peer that names many addresses, or makes many offers, therefore cannot use up
    /// the budget of later ones.
    #[cold]
    pub(super) fn may_check_stranger(&mut self, index: u32) -> bool {
        let asked = &mut self.slots[index as usize].strangers_checked;
        let half = u64::from(self.strangers.burst() / 2);
        // At most the half, which fits in a u32.
        let left =
            (half * u64::from((*asked).min(STRANGERS_CHECKED_MAX)) / u64::from(STRANGERS_CHECKED_MAX)) as u32;
        let may = self.strangers.take_leaving(self.now, left);
        *asked += u32::from(may);
        let slot = &mut self.slots[index as usize];
        slot.is_refused = !may && slot.peer.state() == PeerState::Connecting;
        may
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    use netdyno_rtc_core::PeerState;

    use crate::engine::Port;
    use crate::engine::support::{Side, connect, settings, signal};

    /// Offers of an attacker without a peer, and the number of addresses in each.
    const OFFERS: usize = 1000;
    const VICTIMS: usize = 50;

    /// An offer whose candidates are these victims, all of them one socket.
    fn offer(template: &str, number: usize, port: u16) -> String {
        let lines = template.lines().filter(|line| !line.starts_with("a=candidate"));
        let mut offer: String = lines.map(|line| format!("{line}\r\n")).collect();
        for victim in 0..VICTIMS {
            let ip = format!("127.{}.{}.{}", 1 + number / 200, 1 + number % 200, 1 + victim);
            offer += &format!("a=candidate:1 1 udp 2130706431 {ip} {port} typ host\r\n");
        }
        offer
    }

    #[test]
    fn offers_cannot_cause_a_flood() {
        const PER_S: u32 = 500;
        const AT_ONCE: u32 = 1000;
        let mut settings_of_server = settings();
        (settings_of_server.stranger_checks_per_s, settings_of_server.stranger_checks_at_once) =
            (PER_S, AT_ONCE);
        let mut server = Side::new(settings_of_server);
        let victims = UdpSocket::bind("0.0.0.0:0").unwrap();
        victims.set_nonblocking(true).unwrap();
        let mut caller = Side::new(settings());
        let made = caller.engine.add(Port::Shared).unwrap();
        let mut template = caller.engine.connection(made).unwrap();
        template.create_channel("test", Default::default()).unwrap();
        let template = template.create_offer(false).unwrap();

        let begun = Instant::now();
        let mut heard = 0;
        let mut run = |server: &mut Side, time: Duration| {
            let until = Instant::now() + time;
            loop {
                server.turn();
                heard += std::iter::from_fn(|| victims.recv(&mut [0; 200]).ok()).count();
                if Instant::now() >= until {
                    return heard;
                }
            }
        };
        for number in 0..OFFERS {
            let id = server.engine.add(Port::Shared).unwrap();
            let offer = offer(&template, number, victims.local_addr().unwrap().port());
            server.engine.connection(id).unwrap().accept_offer(&offer).unwrap();
            run(&mut server, Duration::ZERO);
        }
        let mut honest = |name: &str, is_lite: bool| {
            let mut settings = settings();
            let mut peer = (*settings.peer).clone();
            peer.ice_lite = is_lite;
            settings.peer = peer.into();
            let (mut client, begun) = (Side::new(settings), Instant::now());
            let (here, there) = match is_lite {
                // It makes no checks, so only the server's checks connect them.
                true => signal(&mut server, &mut client),
                false => connect(&mut client, &mut server),
            };
            while is_lite && server.state(here) != PeerState::Connected {
                assert!(begun.elapsed() < Duration::from_secs(60), "{name}");
                run(&mut server, Duration::ZERO);
                client.turn();
            }
            println!("{name}: connected after {:?}, {there} of {}", begun.elapsed(), server.engine.len());
        };
        honest("one that makes checks", false);
        honest("one that makes none", true);
        let heard = run(&mut server, Duration::from_secs(2));
        let most = f64::from(AT_ONCE) + begun.elapsed().as_secs_f64() * f64::from(PER_S);
        println!("{heard} checks to {} addresses in {:?}", OFFERS * VICTIMS, begun.elapsed());
        // Without a limit it would be 256 for each offer.
        assert!(
            heard > AT_ONCE as usize / 2 && (heard as f64) <= most + 1.0,
            "{heard}, and at the most {most}"
        );
    }
}
