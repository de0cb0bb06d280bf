//! Verdicts in words.

use super::region::{ClaimVerdict, Finding, Region};
use super::tested::Tested;
use crate::report::format::ratio;

pub(super) fn sentence(
    verdict: ClaimVerdict,
    conditions: &[String],
    (own, fair): (&Tested, &Tested),
    region: Option<Region>,
) -> String {
    let by_own = |finding| own.finding == finding;
    let equal = fair.measured.as_ref().and_then(|m| region?.equal(m.low, m.high));
    let equal = equal.map(|factor| format!(": equal within {:.0} %", (factor - 1.0) * 100.0));
    let not = format!("does not hold{}", equal.unwrap_or_default());
    let as_published = "holds only under the article's conditions";
    let claim = match verdict {
        ClaimVerdict::Holds if by_own(Finding::Refuted) => {
            "holds, but the article's own method refutes it here".to_owned()
        }
        ClaimVerdict::Holds => "holds".to_owned(),
        ClaimVerdict::OnlyAsPublished if conditions.is_empty() => {
            format!("{as_published} (the responsible condition was not found)")
        }
        ClaimVerdict::OnlyAsPublished => format!("{as_published}: {}", conditions.join("; ")),
        ClaimVerdict::DoesNotHold => match own.finding {
            Finding::Open => format!("{not}; undecided by the article's own method"),
            Finding::Refuted => format!("{not}; the article's own method also refutes it"),
            Finding::Shown | Finding::Missing => not,
        },
        ClaimVerdict::Undecided if by_own(Finding::Shown) => {
            let methods = "confirmed by the article's own method, undecided by the fair method";
            format!("undecided: {methods}; {}", remedy(fair))
        }
        ClaimVerdict::Undecided => format!("undecided: {}", remedy(fair)),
        ClaimVerdict::NotTested => {
            let own = match own.finding {
                Finding::Shown | Finding::Refuted => {
                    format!("; {} by the article's own method", own.finding.word())
                }
                Finding::Open | Finding::Missing => String::new(),
            };
            format!("not tested: {}{own}", fair.why)
        }
    };
    // Where the order is refuted, its published ratio is, too.
    let size = match (verdict, region.is_some_and(Region::is_order)) {
        (ClaimVerdict::Holds | ClaimVerdict::Undecided, is_order) => size(fair, is_order),
        (_, true) => None,
        (_, false) => size(fair, false),
    };
    [Some(claim), size].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The result for the published ratio. If it is the claim itself, only the distance is new.
fn size(fair: &Tested, is_order: bool) -> Option<String> {
    match (fair.size, fair.size_distance) {
        (Finding::Refuted, Some(distance)) if is_order => {
            Some(format!("published ratio refuted: outside the interval by {}x", ratio(distance)))
        }
        (Finding::Refuted, Some(distance)) => Some(format!("outside the interval by {}x", ratio(distance))),
        (Finding::Shown, _) if is_order => Some("published ratio confirmed".to_owned()),
        (Finding::Open, _) if is_order => Some("published ratio undecided".to_owned()),
        _ => None,
    }
}

/// How to decide the claim.
fn remedy(fair: &Tested) -> String {
    let unit = fair.measured.as_ref().and_then(|m| Some(m.of.split_once(' ')?.1.trim_end_matches('s')));
    match (fair.needs, unit) {
        (Some(1), Some(unit)) => format!("about one more {unit} is needed: --resume"),
        (Some(count), Some(unit)) => format!("about {count} more {unit}s are needed: --resume"),
        _ => "the ratio is too close to the claimed bound for any --budget".to_owned(),
    }
}
