//! A network as typed.

use super::{parse_duration, parse_share};
use crate::arena::{Link, Net};

/// `loopback`, `host`, `veth`, `veth,mtu=9000,rate=1gbit`, `veth,rate=100mbit,delay=50ms,loss=1%`.
pub(super) fn parse_net(text: &str) -> Result<Net, String> {
    let mut parts = text.split(',');
    let kind = parts.next().unwrap_or("");
    let mut options = parts.peekable();
    match kind {
        "loopback" | "host" if options.peek().is_some() => {
            Err(format!("`{kind}` takes no options; `veth` does"))
        }
        "loopback" => Ok(Net::Loopback),
        "host" => Ok(Net::Host),
        "veth" => {
            let mut link = Link::default();
            for option in options {
                match option.split_once('=') {
                    Some(("mtu", n)) => {
                        link.mtu = n.parse().map_err(|_| format!("mtu={n}: not a number of bytes"))?;
                    }
                    Some(("rate", r)) => link.rate_bits_per_s = Some(parse_rate(r)?),
                    Some(("delay", d)) => link.delay = parse_duration(d)?,
                    Some(("loss", l)) => link.loss_ppm = (parse_share(l)? * 1e6).round() as u32,
                    _ => return Err(format!("{option:?} is none of mtu=, rate=, delay= and loss=")),
                }
            }
            Ok(Net::Veth(link))
        }
        _ => Err(format!(
            "{text:?} is none of `loopback`, `veth[,mtu=N][,rate=1gbit][,delay=50ms][,loss=1%]`, `host`"
        )),
    }
}

/// `1gbit`, `100mbit`, as tc(8) writes rates.
fn parse_rate(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] =
        [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000), ("bit", 1)];
    let parsed =
        UNITS.iter().find_map(|(unit, n)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*n));
    parsed.filter(|r| *r > 0).ok_or_else(|| format!("rate={text}: not a rate such as 1gbit or 100mbit"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn values() {
        assert_eq!(
            parse_net("veth,mtu=9000,rate=1gbit"),
            Ok(Net::Veth(Link { mtu: 9000, rate_bits_per_s: Some(1_000_000_000), ..Link::default() }))
        );
        assert_eq!(
            parse_net("veth,delay=50ms,loss=1%"),
            Ok(Net::Veth(Link { delay: Duration::from_millis(50), loss_ppm: 10_000, ..Link::default() }))
        );
        assert!(
            ["veth,loss=x", "veth,delay=-1s", "loopback,mtu=1", "x", "veth,mtu=x", "veth,rate=1"]
                .iter()
                .all(|t| parse_net(t).is_err())
        );
    }
}
