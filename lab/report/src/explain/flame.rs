//! A differential flame graph as static SVG, with the details of each box in its tooltip.
//!
//! The width of a box is the greater of the function's times on the two sides, so that both sides are
//! complete. Red means more time on the second side, blue less.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::plot::escaped;
use netdyno_lab_analysis::explain::parse::KERNEL;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const MARGIN: f64 = 10.0;
const HEAD: f64 = 64.0;
/// Boxes narrower than this are omitted with their callees.
const NARROWEST: f64 = 0.4;
/// Approximate width of a character.
const LETTER: f64 = 6.6;
/// Difference, as a share of the total, that has full colour.
const FULL_COLOUR: f64 = 0.1;

/// Times of a function on both sides, and its callees.
#[derive(Debug, Default)]
struct Frame {
    ns: [f64; 2],
    callees: BTreeMap<String, Frame>,
}

/// Stacks of one role on both sides.
#[derive(Debug)]
pub struct Stacks<'a> {
    /// The role.
    pub role: &'a str,
    /// Samples of the first and the second side, by stack.
    pub sides: [&'a BTreeMap<String, u64>; 2],
    /// CPU time per unit of work on each side, in ns.
    pub cpu_ns: [f64; 2],
}

impl Frame {
    fn add(&mut self, stack: &str, side: usize, ns: f64) {
        self.ns[side] += ns;
        let mut at = self;
        for name in stack.split(';').filter(|name| !name.is_empty()) {
            at = at.callees.entry(name.to_owned()).or_default();
            at.ns[side] += ns;
        }
    }

    /// The greater of both times, and at least the sum of the callees' widths.
    fn width(&self) -> f64 {
        let callees = self.callees.values().map(Frame::width).sum::<f64>();
        self.ns[0].max(self.ns[1]).max(callees)
    }

    fn depth(&self) -> usize {
        1 + self.callees.values().map(Frame::depth).max().unwrap_or(0)
    }
}

/// Draws the flame graph as SVG.
pub fn svg(title: &str, [a, b]: [&str; 2], unit: &str, all: &[Stacks<'_>]) -> String {
    let mut root = Frame::default();
    for role in all {
        for side in 0..2 {
            let samples = role.sides[side].values().sum::<u64>().max(1) as f64;
            for (stack, count) in role.sides[side] {
                root.add(
                    &format!("{};{stack}", role.role),
                    side,
                    role.cpu_ns[side] * *count as f64 / samples,
                );
            }
        }
    }
    let height = HEAD + root.depth() as f64 * ROW + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n<title>{0}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"22\" font-size=\"16\">{0}</text>\n\
         <text x=\"{MARGIN}\" y=\"40\">Width: CPU time per {unit}, the greater of both sides. Red: more in {b}; blue: less; grey: equal. \
         Callees are above their callers.</text>\n",
        escaped(title),
        unit = escaped(unit),
        b = escaped(b),
    );
    let whole = root.width();
    if whole > 0.0 {
        let draw =
            Draw { scale: (WIDTH - 2.0 * MARGIN) / whole, whole, floor: height - MARGIN, names: [a, b] };
        draw.frame(&mut out, "all", &root, MARGIN, 0);
    }
    out.push_str("</svg>\n");
    out
}

struct Draw<'a> {
    scale: f64,
    whole: f64,
    floor: f64,
    names: [&'a str; 2],
}

impl Draw<'_> {
    fn frame(&self, out: &mut String, name: &str, frame: &Frame, x: f64, level: usize) {
        let width = frame.width() * self.scale;
        if width < NARROWEST {
            return;
        }
        let y = self.floor - (level + 1) as f64 * ROW;
        let difference = frame.ns[1] - frame.ns[0];
        let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
        let label: String = match name.strip_suffix(KERNEL).unwrap_or(name) {
            name if name.chars().count() <= letters => name.to_owned(),
            name if letters >= 4 => name.chars().take(letters - 2).chain("..".chars()).collect(),
            _ => String::new(),
        };
        let text = match label.is_empty() {
            true => String::new(),
            false => format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 2.0, y + 12.0, escaped(&label)),
        };
        let [a, b] = self.names.map(escaped);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<g><title>{}: {a} {:.1} ns, {b} {:.1} ns, {difference:+.1} ns</title><rect x=\"{x:.1}\" y=\"{y:.1}\" \
             width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.5\"/>{text}</g>",
            escaped(name),
            frame.ns[0],
            frame.ns[1],
            ROW - 1.0,
            colour(difference / self.whole),
        );
        let mut x = x;
        for (name, callees) in &frame.callees {
            self.frame(out, name, callees, x, level + 1);
            x += callees.width() * self.scale;
        }
    }
}

/// Red for more, blue for less; stronger for a greater difference.
fn colour(share: f64) -> String {
    let strength = (share.abs() / FULL_COLOUR).min(1.0).sqrt();
    let fade = |full: f64| (228.0 + (full - 228.0) * strength).round() as u8;
    let [r, g, b] = if share > 0.0 { [235.0, 90.0, 70.0] } else { [90.0, 140.0, 235.0] };
    format!("#{:02x}{:02x}{:02x}", fade(r), fade(g), fade(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(samples: &[(&str, u64)]) -> BTreeMap<String, u64> {
        samples.iter().map(|(stack, count)| ((*stack).to_owned(), *count)).collect()
    }

    #[test]
    fn the_graph_contains_functions_of_both_sides() {
        let (a, b) = (stacks(&[("main;old", 10)]), stacks(&[("main;new", 5), ("main", 5)]));
        let all = [Stacks { role: "ping", sides: [&a, &b], cpu_ns: [1000.0, 2000.0] }];
        let picture = svg("one against two", ["one", "two"], "msg", &all);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let titles: Vec<&str> = document
            .descendants()
            .filter(|n| n.has_tag_name("g"))
            .filter_map(|n| n.first_child()?.text())
            .collect();
        assert_eq!(
            titles,
            [
                "all: one 1000.0 ns, two 2000.0 ns, +1000.0 ns",
                "ping: one 1000.0 ns, two 2000.0 ns, +1000.0 ns",
                "main: one 1000.0 ns, two 2000.0 ns, +1000.0 ns",
                "new: one 0.0 ns, two 1000.0 ns, +1000.0 ns",
                "old: one 1000.0 ns, two 0.0 ns, -1000.0 ns",
            ]
        );
        let width = |name: &str| -> f64 {
            let found = document
                .descendants()
                .find(|n| n.has_tag_name("title") && n.text().is_some_and(|t| t.starts_with(name)));
            found.and_then(|n| n.next_sibling()?.attribute("width")?.parse().ok()).unwrap()
        };
        assert!((width("main") - 1180.0).abs() < 0.2 && (width("old") - 590.0).abs() < 0.2, "{picture}");
    }

    #[test]
    fn a_name_never_becomes_markup() {
        let a = stacks(&[("</title><script>alert(1)</script>&\"", 1)]);
        let none = BTreeMap::new();
        let all = [Stacks { role: "ping", sides: [&a, &none], cpu_ns: [10.0, 10.0] }];
        let picture = svg("<b>", ["<i>", "&"], "<u>", &all);
        let document = roxmltree::Document::parse(&picture).unwrap();
        assert!(
            !document.descendants().any(|n| ["script", "b", "i", "u"].iter().any(|tag| n.has_tag_name(*tag)))
        );
        assert!(picture.contains("&lt;script&gt;"));
    }

    #[test]
    fn the_graph_of_no_stacks_is_valid() {
        assert!(roxmltree::Document::parse(&svg("none", ["a", "b"], "msg", &[])).is_ok());
    }
}
