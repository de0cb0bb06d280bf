//! The members of a session ([RFC 3550 sections 6.2.1 and 6.3.2 to 6.3.5](https://www.rfc-editor.org/rfc/rfc3550#section-6.2.1)),
//! as input of [`Interval`](crate::Interval).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::limits::MAX_MEMBERS;
use crate::types::Ssrc;

/// Mean intervals without packets after which a member times out (section 6.3.5).
const MEMBER_INTERVALS: u32 = 5;
/// Mean intervals without RTP after which a member is no longer a sender (section 6.3.5).
const SENDER_INTERVALS: u32 = 2;

/// The other members of a session, at most [`MAX_MEMBERS`]. A packet takes a search, a clean-up one pass.
#[derive(Debug, Clone, Default)]
pub struct Members {
    others: BTreeMap<Ssrc, Heard>,
}

#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Instant,
    rtp_at: Option<Instant>,
}

impl Members {
    /// Handles an RTP packet of a valid source. Returns false if the maximum number of members is reached.
    pub fn handle_rtp(&mut self, now: Instant, ssrc: Ssrc) -> bool {
        self.hear(now, ssrc, Some(now))
    }

    /// Handles an RTCP packet other than BYE. Returns false if the maximum number of members is reached.
    pub fn handle_rtcp(&mut self, now: Instant, ssrc: Ssrc) -> bool {
        self.hear(now, ssrc, None)
    }

    /// Handles a BYE. Returns whether its source was a member.
    pub fn handle_bye(&mut self, ssrc: Ssrc) -> bool {
        self.others.remove(&ssrc).is_some()
    }

    /// Removes members without packets for five mean intervals ([`Interval::mean`](crate::Interval::mean)), and demotes senders
    /// without RTP for two.
    pub fn handle_timeout(&mut self, now: Instant, mean: Duration) {
        let is_within = |at: Instant, intervals| now.saturating_duration_since(at) <= mean * intervals;
        self.others.retain(|_, heard| is_within(heard.at, MEMBER_INTERVALS));
        for heard in self.others.values_mut() {
            heard.rtp_at = heard.rtp_at.filter(|at| is_within(*at, SENDER_INTERVALS));
        }
    }

    /// Number of members including this one.
    pub fn count(&self) -> usize {
        self.others.len() + 1
    }

    /// Number of other members that send. Linear in the number of members.
    pub fn senders(&self) -> usize {
        self.others.values().filter(|heard| heard.rtp_at.is_some()).count()
    }

    fn hear(&mut self, now: Instant, ssrc: Ssrc, rtp_at: Option<Instant>) -> bool {
        if let Some(heard) = self.others.get_mut(&ssrc) {
            *heard = Heard { at: now, rtp_at: rtp_at.or(heard.rtp_at) };
            return true;
        }
        let has_room = self.others.len() < MAX_MEMBERS;
        if has_room {
            self.others.insert(ssrc, Heard { at: now, rtp_at });
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut members = Members::default();
        assert_eq!((members.count(), members.senders()), (1, 0));
        assert!(members.handle_rtp(at(0), Ssrc(1)) && members.handle_rtcp(at(0), Ssrc(2)));
        assert_eq!((members.count(), members.senders()), (3, 1));
        let mean = Duration::from_secs(5);
        for (second, expected) in [(10, (3, 1)), (11, (3, 0)), (25, (3, 0)), (26, (1, 0))] {
            members.handle_timeout(at(second), mean);
            assert_eq!((members.count(), members.senders()), expected, "{second} s");
        }
        assert!(members.handle_rtcp(at(30), Ssrc(3)));
        assert!(members.handle_bye(Ssrc(3)) && !members.handle_bye(Ssrc(3)));
        assert_eq!(members.count(), 1);
    }

    #[test]
    fn there_is_an_end_of_them() {
        let now = Instant::now();
        let mut members = Members::default();
        assert!((0..MAX_MEMBERS as u32).all(|ssrc| members.handle_rtcp(now, Ssrc(ssrc))));
        assert!(!members.handle_rtp(now, Ssrc(u32::MAX)));
        assert!(members.handle_rtp(now, Ssrc(0)));
        assert_eq!((members.count(), members.senders()), (MAX_MEMBERS + 1, 1));
    }
}
