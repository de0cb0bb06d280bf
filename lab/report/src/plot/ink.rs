//! Colours of pictures and pages in light and dark mode, and the style sheet of pictures.
//!
//! `chart.css` assigns named colours to the classes of pictures. Pages define the names as CSS variables for
//! both modes. Standalone pictures contain the values, because many SVG viewers do not support variables.

/// Style sheet of pictures.
pub(crate) const CHART_CSS: &str = include_str!("chart.css");
/// Number of line colours. Further lines repeat them with other dashes.
pub(super) const LINE_COLOURS: usize = 8;
/// Number of colours of a heat map.
pub(super) const HEAT_STEPS: usize = 7;

/// Name, value in light mode, value in dark mode.
type Colour = (&'static str, &'static str, &'static str);
/// The palette. A test checks the contrast to the background: at least 4.5:1 for text and 3:1 for lines.
pub(crate) const COLOURS: [Colour; 34] = [
    ("page", "#ffffff", "#0d1117"),
    ("panel", "#f6f8fa", "#151b23"),
    ("ink", "#1f2328", "#e6edf3"),
    ("soft", "#59636e", "#9198a1"),
    ("rule", "#e9edf0", "#20262e"),
    ("grid", "#e4e8ec", "#262c36"),
    ("edge", "#d1d9e0", "#3d444d"),
    ("better", "#0b62c4", "#58a6ff"),
    ("worse", "#c2410c", "#f0883e"),
    ("bound", "#8250df", "#ab7df8"),
    ("bad", "#c4182b", "#ff7b72"),
    ("wash", "#fff3ee", "#2a1a14"),
    ("c0", "#0b62c4", "#58a6ff"),
    ("c1", "#c2410c", "#f0883e"),
    ("c2", "#1a7f37", "#3fb950"),
    ("c3", "#bf3989", "#f778ba"),
    ("c4", "#0e7490", "#39c5cf"),
    ("c5", "#7d4e00", "#d29922"),
    ("c6", "#7c3aed", "#b18cff"),
    ("c7", "#57606a", "#9ea7b3"),
    ("h0", "#eef5fc", "#131c27"),
    ("h1", "#d5e6f8", "#152c47"),
    ("h2", "#b3d2f2", "#183f6b"),
    ("h3", "#86b6e8", "#1d5590"),
    ("h4", "#5c9adb", "#2f6fb8"),
    ("h5", "#1f6bbd", "#72abec"),
    ("h6", "#0a4a8f", "#acd2ff"),
    ("i0", "#1f2328", "#e6edf3"),
    ("i1", "#1f2328", "#e6edf3"),
    ("i2", "#1f2328", "#ffffff"),
    ("i3", "#1f2328", "#ffffff"),
    ("i4", "#10151b", "#ffffff"),
    ("i5", "#ffffff", "#10151b"),
    ("i6", "#ffffff", "#10151b"),
];

/// CSS variables of a mode: `--ink:#1f2328;..`.
pub(crate) fn definitions(dark: bool) -> String {
    COLOURS.iter().map(|(name, day, night)| format!("--{name}:{};", if dark { night } else { day })).collect()
}

/// Style sheet of a standalone picture. It follows the viewer's colour scheme if supported.
pub(super) fn style() -> String {
    let with = |dark: bool| {
        COLOURS.iter().fold(CHART_CSS.to_owned(), |css, (name, day, night)| {
            css.replace(&format!("var(--{name})"), if dark { night } else { day })
        })
    };
    // Dark mode repeats only the rules with colours.
    let coloured: String =
        with(true).lines().filter(|rule| rule.contains('#')).collect::<Vec<_>>().join("\n");
    format!("{}@media (prefers-color-scheme:dark){{\n{coloured}\n}}\n", with(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    /// WCAG 2.2, "contrast ratio".
    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn contrast_is_sufficient() {
        let colour = |name: &str| *COLOURS.iter().find(|c| c.0 == name).unwrap();
        let heat: Vec<(String, String)> =
            (0..HEAT_STEPS).map(|i| (format!("i{i}"), format!("h{i}"))).collect();
        let texts = ["ink", "soft", "better", "worse", "bound", "bad"];
        let texts = texts.iter().flat_map(|t| ["page", "panel"].map(|on| ((*t).to_owned(), on.to_owned())));
        let washed = ["ink", "soft", "bad"].map(|t| (t.to_owned(), "wash".to_owned()));
        let lines = (0..LINE_COLOURS).map(|i| (format!("c{i}"), "page".to_owned()));
        let texts = texts.chain(heat).chain(washed).map(|pair| (pair, 4.5));
        for ((text, on), least) in texts.chain(lines.map(|pair| (pair, 3.0))) {
            let (text, on) = (colour(&text), colour(&on));
            for (a, b, mode) in [(text.1, on.1, "light"), (text.2, on.2, "dark")] {
                let ratio = contrast(a, b);
                assert!(ratio >= least, "{} on {}, {mode}: {ratio:.2}", text.0, on.0);
            }
        }
    }

    #[test]
    fn a_standalone_style_has_no_variables() {
        let style = style();
        assert!(!style.contains("var("), "{style}");
        assert!(style.contains("#1f2328") && style.contains("#e6edf3"), "{style}");
        // Every variable is a colour of the palette.
        let named = CHART_CSS.split("var(--").skip(1).filter_map(|rest| rest.split(')').next());
        assert!(named.into_iter().all(|name| COLOURS.iter().any(|c| c.0 == name)));
    }
}
