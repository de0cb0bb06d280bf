//! Parsers for argument values.

use std::path::PathBuf;
use std::time::Duration;

use netdyno_lab_analysis::claims::Asked;
use netdyno_lab_analysis::comparison::{Limit, Tolerance};
use netdyno_lab_manifest::{Link, Net, Placement};

pub(super) fn parse_assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not PARAM=VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `90`, `90s`, `15m`, `1h`, `30d`; greater than zero.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let time = time(text).filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("{text:?} is not a time such as 50ms, 90s, 15m or 1h"))
}

/// Like [`parse_duration`], but accepts zero.
fn time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * unit).ok()
}

pub(super) fn parse_asked(text: &str) -> Result<Asked, String> {
    serde_json::from_str(text).map_err(|e| format!("not a request of `netdyno replicate`: {e}"))
}

/// `5%` or `0.05`; greater than zero.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let share = share(text).filter(|share| *share > 0.0);
    share.ok_or_else(|| format!("{text:?} is not a share such as 5% or 0.05"))
}

/// At least 0 and below 1.
fn share(text: &str) -> Option<f64> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |d| (d, 100.0));
    let share = digits.trim().parse::<f64>().ok()? / unit;
    (0.0..1.0).contains(&share).then_some(share)
}

/// `512MiB`, `2GiB`. A bare number is an error: `10` hardly means bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    const LEAST_BYTES: u64 = 1 << 20;
    if text.parse::<u64>().is_ok() {
        return Err(format!("{text:?} has no unit: write {text}MiB or {text}GiB"));
    }
    let given = UNITS.iter().find_map(|(u, n)| Some((text.strip_suffix(u)?, *n)));
    let bytes = given.and_then(|(digits, unit)| digits.trim().parse::<u64>().ok()?.checked_mul(unit));
    match bytes {
        Some(n) if n >= LEAST_BYTES => Ok(n),
        Some(_) => Err(format!("{text:?} is too small: at least 1MiB")),
        None => Err(format!("{text:?} is not a size such as 512MiB or 2GiB")),
    }
}

/// From 0.01 to 1000.
pub(super) fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|f| (0.01..=1000.0).contains(f));
    factor.ok_or_else(|| format!("{text:?} is not a factor from 0.01 to 1000"))
}

/// A condition for exit code 5.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FailOn {
    /// A change for the worse beyond this limit.
    Beyond(Tolerance),
    /// Undecided whether there is a regression.
    Undecided,
}

impl FailOn {
    /// A relative loss of more than `share`: in a metric, else in the primary one.
    pub(crate) fn loss(metric: Option<&str>, share: f64) -> FailOn {
        FailOn::Beyond(Tolerance { metric: metric.map(str::to_owned), limit: Limit::Relative(share) })
    }

    /// A change of a metric for the worse by more than this amount.
    pub(crate) fn change(metric: &str, amount: f64) -> FailOn {
        FailOn::Beyond(Tolerance { metric: Some(metric.to_owned()), limit: Limit::Absolute(amount) })
    }
}

/// `regression=3%`, `p99=5%`, `lost=0`, `undecided`.
pub(crate) fn parse_fail_on(text: &str) -> Result<FailOn, String> {
    let amount = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    match text.split_once('=') {
        Some(("regression", share)) => Ok(FailOn::loss(None, parse_share(share)?)),
        Some((metric, share)) if share.ends_with('%') => Ok(FailOn::loss(Some(metric), parse_share(share)?)),
        Some((metric, text)) if !metric.is_empty() => amount(text)
            .map(|amount| FailOn::change(metric, amount))
            .ok_or_else(|| format!("{metric}={text}: not a limit such as 3% or 0")),
        None if text == "undecided" => Ok(FailOn::Undecided),
        _ => Err(format!("{text:?} is neither `regression=3%`, `METRIC=3%`, `METRIC=0` nor `undecided`")),
    }
}

pub(super) fn parse_placement(text: &str) -> Result<Placement, String> {
    match text {
        "apart" => Ok(Placement::Apart),
        "shared" => Ok(Placement::Shared),
        _ => Err(format!("{text:?} is neither `apart` nor `shared`")),
    }
}

/// `loopback`, `host`, `veth`, `veth,mtu=9000,rate=1gbit`, `veth,rate=100mbit,delay=50ms,loss=1%`.
pub(super) fn parse_net(text: &str) -> Result<Net, String> {
    let (kind, options) = text.split_once(',').map_or((text, None), |(kind, options)| (kind, Some(options)));
    match kind {
        "loopback" | "host" if options.is_some() => Err(format!("`{kind}` takes no options; `veth` does")),
        "loopback" => Ok(Net::Loopback),
        "host" => Ok(Net::Host),
        "veth" => {
            let mut link = Link::default();
            let mut options = options.into_iter().flat_map(|options| options.split(','));
            options.try_for_each(|option| set_option(&mut link, option))?;
            Ok(Net::Veth(link))
        }
        _ => Err(format!(
            "{text:?} is none of `loopback`, `veth[,mtu=N][,rate=1gbit][,queue=50ms][,delay=50ms][,loss=1%]`, `host`"
        )),
    }
}

fn set_option(link: &mut Link, option: &str) -> Result<(), String> {
    let fault = |what: &str| format!("{option}: not {what}");
    match option.split_once('=') {
        Some(("mtu", n)) => link.mtu = n.parse().map_err(|_| fault("a number of bytes"))?,
        Some(("rate", rate)) => link.rate_bits_per_s = Some(parse_rate(rate)?),
        Some(("queue", delay)) => link.queue = Some(parse_duration(delay)?),
        Some(("delay", delay)) => {
            link.delay = time(delay).ok_or_else(|| fault("a time such as 50ms or 0"))?
        }
        Some(("loss", loss)) => {
            let loss = share(loss).ok_or_else(|| fault("a share such as 5%, 0.05 or 0"))?;
            link.loss_ppm = (loss * 1e6).round() as u32;
        }
        _ => return Err(format!("{option:?} is none of mtu=, rate=, queue=, delay= and loss=")),
    }
    Ok(())
}

/// `1gbit`, `100mbit`, in the notation of tc(8).
fn parse_rate(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] =
        [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000), ("bit", 1)];
    let parsed =
        UNITS.iter().find_map(|(unit, n)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*n));
    parsed.filter(|r| *r > 0).ok_or_else(|| format!("rate={text}: not a rate such as 1gbit or 100mbit"))
}

/// A file name without an extension, or with `.svg` or `.png`.
pub(super) fn parse_picture(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    match file.extension().map(|e| e.to_string_lossy().to_lowercase()) {
        Some(kind) if kind != "svg" && kind != "png" => Err(format!(
            "cannot write {kind}, only SVG or PNG: name it {}",
            file.with_extension("svg").display()
        )),
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(parse_duration("50ms"), Ok(Duration::from_millis(50)));
        assert!(["", "s", "-1s", "1y", "1e300h", "nan"].iter().all(|t| parse_duration(t).is_err()));
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert!(["", "0", "100%", "x"].iter().all(|t| parse_share(t).is_err()));
        assert_eq!(parse_fail_on("regression=3%"), Ok(FailOn::loss(None, 0.03)));
        assert_eq!(parse_fail_on("undecided"), Ok(FailOn::Undecided));
        assert_eq!(parse_fail_on("p99=5%"), Ok(FailOn::loss(Some("p99"), 0.05)));
        assert_eq!(parse_fail_on("lost=0"), Ok(FailOn::change("lost", 0.0)));
        assert!(
            ["regression", "regression=", "regression=x", "slow", "=0", "lost=-1", "lost=x"]
                .iter()
                .all(|t| parse_fail_on(t).is_err())
        );
        assert_eq!(parse_assignment("a = b=c"), Ok(("a".into(), "b=c".into())));
        assert!(parse_assignment("a").is_err());
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1024KiB"), Ok(1 << 20));
        for (text, part) in [
            ("", "such as 512MiB"),
            ("99999999999GiB", "such as 512MiB"),
            ("2GB", "such as 512MiB"),
            ("10", "write 10MiB or 10GiB"),
            ("0MiB", "at least 1MiB"),
            ("10KiB", "at least 1MiB"),
        ] {
            let error = parse_size(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(
            parse_net("veth,mtu=9000,rate=1gbit"),
            Ok(Net::Veth(Link { mtu: 9000, rate_bits_per_s: Some(1_000_000_000), ..Link::default() }))
        );
        assert_eq!(
            parse_net("veth,delay=50ms,loss=1%,queue=1s"),
            Ok(Net::Veth(Link {
                delay: Duration::from_millis(50),
                loss_ppm: 10_000,
                queue: Some(Duration::from_secs(1)),
                ..Link::default()
            }))
        );
        assert_eq!(parse_net("veth,loss=0%,delay=0"), Ok(Net::Veth(Link::default())));
        assert!(
            [
                "veth,loss=x",
                "veth,loss=100%",
                "veth,loss=-1%",
                "veth,delay=-1s",
                "loopback,mtu=1",
                "x",
                "veth,mtu=x",
                "veth,rate=1"
            ]
            .iter()
            .all(|t| parse_net(t).is_err())
        );
    }

    #[test]
    fn sizes_and_pictures() {
        assert_eq!(parse_picture("a/x.SVG"), Ok(PathBuf::from("a/x.SVG")));
        assert_eq!(parse_picture("a/x.png"), Ok(PathBuf::from("a/x.png")));
        assert_eq!(parse_picture("/dev/stdout"), Ok(PathBuf::from("/dev/stdout")));
        assert!(parse_picture("a/x.jpeg").unwrap_err().contains("name it a/x.svg"));
    }
}
