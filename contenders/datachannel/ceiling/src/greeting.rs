//! The ceiling's replacement for a session description.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::link::Link;

/// The port to send to, and the number of datagrams that its socket buffer can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// UDP port.
    pub port: u16,
    /// Maximum number of datagrams in flight.
    pub credit: u64,
}

impl Greeting {
    /// Creates the greeting of this end.
    pub fn of(link: &Link) -> io::Result<Self> {
        Ok(Self { port: link.port()?, credit: link.credit()? })
    }
}

impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "netdyno-ceiling {} {}", self.port, self.credit)
    }
}

impl FromStr for Greeting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let greeting = (words.next() == Some("netdyno-ceiling"))
            .then(|| Some(Self { port: words.next()?.parse().ok()?, credit: words.next()?.parse().ok()? }));
        greeting.flatten().ok_or_else(|| "the other role is not the ceiling".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_round_trip_and_invalid_ones_are_rejected() {
        let greeting = Greeting { port: 4321, credit: 99 };
        assert_eq!(greeting.to_string().parse(), Ok(greeting));
        for text in ["", "v=0", "netdyno-ceiling", "netdyno-ceiling 1", "netdyno-ceiling 70000 1"] {
            assert!(text.parse::<Greeting>().is_err(), "{text}");
        }
    }
}
