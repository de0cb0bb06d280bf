//! SVG output: text and shapes with classes. All text is escaped.

use std::fmt::Write;

use super::ink;
use crate::layout::wrapped;
use netdyno_lab_analysis::report::plain;

/// Margin of a standalone picture.
const PAD: f64 = 16.0;
/// Height of a line of small text.
pub(super) const LINE: f64 = 16.0;
/// Approximate widths of a character of small text, normal text, a title, and bold text.
pub(super) const SMALL_LETTER: f64 = 6.8;
pub(super) const LETTER: f64 = 7.5;
const TITLE_LETTER: f64 = 11.0;
pub(super) const BOLD_LETTER: f64 = 8.6;

/// Text that a standalone file shows around a drawing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Captions {
    /// Title, also used as accessible label.
    pub title: String,
    /// Text below the title.
    pub(crate) subtitle: String,
    /// Legend, cells without results, and the machine.
    pub(crate) footer: Vec<String>,
}

/// A drawing and its captions.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Width, in px.
    width: f64,
    /// Height, in px.
    height: f64,
    /// Text around the drawing.
    pub captions: Captions,
    body: String,
}

impl Picture {
    /// The drawing as an element of a page that has the colours and [`ink::CHART_CSS`].
    pub fn inline(&self) -> String {
        let (width, height) = (px(self.width), px(self.height));
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            escaped(&self.captions.title),
            self.body
        )
    }

    /// A standalone SVG file that follows the viewer's colour scheme.
    pub fn file(&self) -> String {
        let mut frame = Canvas::default();
        frame.text(
            "title",
            PAD,
            2.0 * PAD,
            &fitted(&self.captions.title, self.width - 2.0 * PAD, TITLE_LETTER),
        );
        let columns = ((self.width - 2.0 * PAD) / SMALL_LETTER) as usize;
        let mut y = 34.0;
        frame.lines(&self.captions.subtitle, columns, PAD, &mut y);
        y += 12.0;
        let top = y;
        y += self.height;
        for text in &self.captions.footer {
            frame.lines(text, columns, PAD, &mut y);
        }
        let (width, height) = (px(self.width), px(y + PAD));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>\n{}</style>\n\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n{}<g transform=\"translate(0 {})\">\n{}</g>\n</svg>\n",
            ink::style(),
            frame.body,
            px(top),
            self.body,
            title = escaped(&self.captions.title),
        )
    }
}

/// Collects the elements of a picture.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    /// Completes the picture.
    pub(super) fn finish(self, width: f64, height: f64, captions: Captions) -> Picture {
        Picture { width, height, captions, body: self.body }
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y, text) = (px(x), px(y), escaped(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    /// Text rotated to rise to the right.
    pub(super) fn slanted(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y, text) = (px(x), px(y), escaped(text));
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" transform=\"rotate(-40 {x} {y})\">{text}</text>"
        ));
    }

    /// A bold text followed by a small one.
    pub(super) fn label(&mut self, x: f64, y: f64, label: &str, more: &str) {
        let more = match more {
            "" => String::new(),
            more => format!(" <tspan class=\"small\" font-weight=\"400\">{}</tspan>", escaped(more)),
        };
        let label = escaped(label);
        self.put(format_args!("<text class=\"label\" x=\"{}\" y=\"{}\">{label}{more}</text>", px(x), px(y)));
    }

    /// Small text, wrapped. Advances `y` by its height.
    pub(super) fn lines(&mut self, text: &str, columns: usize, x: f64, y: &mut f64) {
        for line in wrapped(&plain(text), columns.max(1), "", "").lines() {
            *y += LINE;
            self.text("small", x, *y, line);
        }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        self.put(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let [x, y, width, height] = [at.0, at.1, size.0, size.1].map(px);
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let [x, y, r] = [at.0, at.1, radius].map(px);
        self.put(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>"));
    }

    /// A path whose origin is at `at`.
    pub(super) fn mark(&mut self, class: &str, at: (f64, f64), d: &str) {
        let (x, y) = (px(at.0), px(at.1));
        self.put(format_args!("<path class=\"{class}\" transform=\"translate({x} {y})\" d=\"{d}\"/>"));
    }

    /// A line through points.
    pub(super) fn joined(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
        self.put(format_args!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    /// Inserts another canvas at a position.
    pub(super) fn place(&mut self, other: &Canvas, at: (f64, f64)) {
        let (x, y) = (px(at.0), px(at.1));
        self.put(format_args!("<g transform=\"translate({x} {y})\">\n{}</g>", other.body));
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// Truncates a text that does not fit, with an ellipsis.
pub(super) fn fitted(text: &str, width: f64, letter: f64) -> String {
    let most = (width / letter).max(2.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Formats a coordinate with one decimal, identically on every machine.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for XML and HTML, and removes control characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML does not allow noncharacters.
            '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_at_most_one_decimal() {
        for (value, text) in [(12.0, "12"), (12.34, "12.3"), (0.04, "0"), (-0.04, "0"), (-3.25, "-3.2")] {
            assert_eq!(px(value), text);
        }
    }

    #[test]
    fn long_names_are_truncated() {
        assert_eq!(fitted("abcdef", 42.0, 7.0), "abcdef");
        assert_eq!(fitted("abcdefg", 42.0, 7.0), "abcde…");
    }

    #[test]
    fn text_is_escaped() {
        let mut canvas = Canvas::default();
        canvas.label(0.0, 0.0, "</text><script>\u{1b}\u{0}\"&", "\u{ffff}]]>");
        let (title, subtitle) = ("\"><img onerror=x>".to_owned(), "<b>".to_owned());
        let captions = Captions { title, subtitle, footer: vec!["</svg>".to_owned()] };
        let picture = canvas.finish(10.0, 10.0, captions);
        for svg in [picture.inline(), picture.file()] {
            let document = roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
            let names =
                document.descendants().filter(roxmltree::Node::is_element).map(|n| n.tag_name().name());
            let known = ["svg", "text", "tspan", "title", "style", "rect", "g"];
            assert!(names.into_iter().all(|name| known.contains(&name)), "{svg}");
        }
    }
}
