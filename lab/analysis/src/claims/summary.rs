//! The number of an article's claims by result.

use serde::{Deserialize, Serialize};

use super::region::Finding;
use super::tested::Tested;

/// The results of both methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// By the article's own method.
    pub article: MethodSummary,
    /// By the fair method.
    pub fair: MethodSummary,
}

/// The results of one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodSummary {
    /// The order of the two sides.
    pub direction: Tally,
    /// Their published ratio.
    pub size: Tally,
}

/// The number of claims by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tally {
    /// True in the whole interval.
    pub confirmed: u32,
    /// False in the whole interval.
    pub refuted: u32,
    /// Open.
    pub undecided: u32,
}

impl Summary {
    /// Counts the results of claims by the article's own method and by the fair one.
    pub(super) fn new(claims: &[(&Tested, &Tested)]) -> Self {
        let of = |tested: Vec<&Tested>| MethodSummary {
            direction: Tally::new(tested.iter().map(|tested| tested.direction)),
            size: Tally::new(tested.iter().map(|tested| tested.size)),
        };
        Self {
            article: of(claims.iter().map(|claim| claim.0).collect()),
            fair: of(claims.iter().map(|claim| claim.1).collect()),
        }
    }

    /// One sentence for each method.
    pub fn sentences(&self) -> String {
        let of = |name: &str, MethodSummary { direction, size }: MethodSummary| {
            format!("{name}: direction {}; published ratio {}.", direction.words(), size.words())
        };
        [of("Fair method", self.fair), of("Article's method", self.article)].join(" ")
    }
}

impl Tally {
    fn new(findings: impl Iterator<Item = Finding>) -> Self {
        findings.fold(Self::default(), |mut tally, finding| {
            match finding {
                Finding::Shown => tally.confirmed += 1,
                Finding::Refuted => tally.refuted += 1,
                Finding::Open => tally.undecided += 1,
                Finding::Missing => {}
            }
            tally
        })
    }

    fn words(self) -> String {
        let Self { confirmed, refuted, undecided } = self;
        let all = confirmed + refuted + undecided;
        if all == 0 {
            return "not tested".to_owned();
        }
        format!("confirmed for {confirmed} of {all} claims, refuted for {refuted}, undecided for {undecided}")
    }
}
