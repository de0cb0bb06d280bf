//! A replication as a picture: published and measured ratios on one axis.

use super::terminal::{figure, published};
use crate::plot::{Captions, Kind, Ranking, RankingRow, bounds};
use netdyno_lab_analysis::claims::{Finding, Judged, JudgedClaim, Tested};

/// The claims of an article that have measured ratios, each by both methods. Fails if there are none.
pub fn picture(article: &Judged) -> Result<Ranking, String> {
    let rows: Vec<RankingRow> = article.claims.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return Err(format!("{}: no claim was measured", article.id));
    }
    let mut footer: Vec<String> =
        article.methods.iter().map(|r| r.host.clone()).filter(|h| !h.is_empty()).collect();
    footer.dedup();
    let runs: Vec<&str> = article.methods.iter().map(|r| r.run.as_str()).filter(|r| !r.is_empty()).collect();
    footer.push(format!("Runs: {}", runs.join(", ")));
    Ok(Ranking {
        captions: Captions { title: article.title.clone(), subtitle: article.about.clone(), footer },
        metric: "published".to_owned(),
        versus: "measured".to_owned(),
        axis: "measured ratio of the two sides, logarithmic scale".to_owned(),
        legend: "Dot: ratio; line: its confidence interval; bar: published ratio; hollow: undecided. Each claim is tested by \
                 the article's method and by a fair method, which treats both sides alike."
            .to_owned(),
        unit: None,
        rows,
        ceiling: None,
    })
}

fn rows(claim: &JudgedClaim) -> Vec<RankingRow> {
    let row = |name: &str, tested: &Tested| {
        let measured = tested.measured.as_ref()?;
        let kind = match tested.finding {
            Finding::Shown => Kind::Better,
            Finding::Refuted => Kind::Worse,
            Finding::Open | Finding::Missing => Kind::Open,
        };
        Some(RankingRow {
            label: claim.id.clone(),
            more: name.to_owned(),
            value: published(claim),
            // The column is narrow: the published ratio next to it already has the "x".
            detail: figure(tested).replace(" (no interval yet)", "").replace("x (", " ("),
            word: tested.finding.word(),
            kind,
            at: Some(measured.ratio).filter(|r| r.is_finite() && *r > 0.0),
            range: bounds(measured.low, measured.high),
            reference: claim.published_ratio.filter(|r| r.is_finite() && *r > 0.0),
        })
    };
    let both = [("article", &claim.article), ("fair", &claim.fair)];
    both.into_iter().filter_map(|(name, tested)| row(name, tested)).collect()
}
