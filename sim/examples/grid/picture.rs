//! Draws the tables: SVG of text and shapes only, readable on light and dark pages.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Carried, LOSSES, Share};

const STYLE: &str = r#"<style>
text { font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
.page { fill: #ffffff; } .title { font-size: 16px; font-weight: 600; } .head { font-weight: 600; }
.small { fill: #59636e; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.cell { text-anchor: middle; font-size: 11px; } .on-dark { fill: #ffffff; } .on-light { fill: #1f2328; }
.rule { stroke: #d8dee4; } .band { fill: #dafbe1; } .dot { fill: #0b62c4; } .ring { fill: none; stroke: #0b62c4; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .page { fill: #0d1117; } .small { fill: #9198a1; } .rule { stroke: #30363d; } .band { fill: #12341d; }
.dot { fill: #58a6ff; } .ring { stroke: #58a6ff; } .on-light { fill: #1f2328; }
}
</style>
"#;

const LEFT: usize = 190;
const TOP: usize = 96;
const ROW: usize = 18;

/// A map of the capacity used on each path, a panel for each congestion control.
pub(crate) fn grid(panels: &[(&str, Carried)], time: Duration) -> String {
    const CELL: usize = 36;
    const GAP: usize = 28;
    let panel_width = CELL * LOSSES.len();
    let rows = panels.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
    let width = LEFT + panels.len() * (panel_width + GAP);
    let title = format!(
        "What one association carries: percent of rate x (1 - loss), {} s from its start",
        time.as_secs()
    );
    let mut svg = begin(width, TOP + rows * ROW + 24, &title);
    text(&mut svg, "small", 20, TOP - 10, "Mbit/s, round trip, queue");
    for (number, (name, rows)) in panels.iter().enumerate() {
        let left = LEFT + number * (panel_width + GAP);
        text(&mut svg, "head", left, TOP - 30, &format!("{name}, by random loss each way"));
        for (column, loss) in LOSSES.iter().enumerate() {
            let label = format!("{} %", (1000.0 * loss).round() / 10.0);
            text(&mut svg, "small middle", left + column * CELL + CELL / 2, TOP - 10, &label);
        }
        for (row, (place, shares)) in rows.iter().enumerate() {
            let y = TOP + row * ROW;
            if number == 0 {
                let name = format!("{}, {} ms, {}", place.mbit(), place.rtt_ms, place.queue);
                text(&mut svg, "end", LEFT - 10, y + 13, &name);
            }
            for (column, &share) in shares.iter().enumerate() {
                let (fill, ink) = shade(share);
                let x = left + column * CELL;
                let _ =
                    writeln!(svg, r#"<rect x="{x}" y="{y}" width="{CELL}" height="{ROW}" fill="{fill}"/>"#);
                let class = format!("cell {ink}");
                text(&mut svg, &class, x + CELL / 2, y + 13, &format!("{share:.0}"));
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// BBR's share against one flow of CUBIC, by path; a mark for each queue length.
pub(crate) fn share(rows: &[Share], time: Duration) -> String {
    const PLOT: usize = 560;
    let places: Vec<&[Share]> =
        rows.chunk_by(|a, b| a.place.mbit() == b.place.mbit() && a.place.rtt_ms == b.place.rtt_ms).collect();
    let height = TOP + 2 * ROW * places.len();
    let title = format!("BBR's part of what it and one flow of CUBIC carry, {} s", time.as_secs());
    let mut svg = begin(LEFT + PLOT + 40, height + 40, &title);
    let at = |percent: f64| LEFT + (percent / 100.0 * PLOT as f64).round() as usize;
    let legend = "disc: the queue holds what one round trip does (35 to 65 % is our aim there); rings: 0.1, 2 and 4 times";
    text(&mut svg, "small", 20, 54, legend);
    let (from, to) = (at(35.0), at(65.0));
    let _ = writeln!(
        svg,
        r#"<rect class="band" x="{from}" y="{TOP}" width="{}" height="{}"/>"#,
        to - from,
        height - TOP
    );
    for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let x = at(percent);
        let _ = writeln!(svg, r#"<line class="rule" x1="{x}" x2="{x}" y1="{TOP}" y2="{height}"/>"#);
        text(&mut svg, "small middle", x, TOP - 8, &format!("{percent} %"));
    }
    for (row, place) in places.iter().enumerate() {
        let y = TOP + row * 2 * ROW + ROW;
        let name = format!("{} Mbit/s, {} ms", place[0].place.mbit(), place[0].place.rtt_ms);
        text(&mut svg, "end", LEFT - 12, y + 4, &name);
        for share in *place {
            let queue = share.place.queue;
            let x = at(share.beside_cubic);
            let (class, radius) = match queue {
                1.0 => ("dot", 6.0),
                _ => ("ring", 3.0 + queue.sqrt() * 2.0),
            };
            let _ = writeln!(
                svg,
                r#"<circle class="{class}" cx="{x}" cy="{y}" r="{radius:.1}"><title>queue {queue}: {:.0} %</title></circle>"#,
                share.beside_cubic
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn begin(width: usize, height: usize, title: &str) -> String {
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{title}">
<title>{title}</title>
{STYLE}<rect class="page" width="{width}" height="{height}" rx="6"/>
"#
    );
    text(&mut svg, "title", 20, 30, title);
    svg
}

fn text(svg: &mut String, class: &str, x: usize, y: usize, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(svg, r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#);
}

/// From dark red over yellow to dark green, with a legible text colour.
fn shade(percent: f64) -> (&'static str, &'static str) {
    match percent {
        p if p >= 90.0 => ("#1a7f37", "on-dark"),
        p if p >= 75.0 => ("#4ac26b", "on-light"),
        p if p >= 60.0 => ("#d4e157", "on-light"),
        p if p >= 40.0 => ("#f2cc60", "on-light"),
        p if p >= 20.0 => ("#ec8e2c", "on-light"),
        _ => ("#a40e26", "on-dark"),
    }
}
