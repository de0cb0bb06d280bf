//! Pages of made-up runs: what they say, what they hold, and what a browser makes of them.

mod pages;
mod sentences;

// The browser is that of another package's tests: a file without ties to it.
#[path = "../../../../../net/mjpeg/tests/page/browser.rs"]
mod browser;
mod in_browser;
mod made_up;
