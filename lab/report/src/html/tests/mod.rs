//! Pages of synthetic runs: their sentences, their contents, and how a browser renders them.

mod pages;
mod sentences;

// The browser driver is a self-contained file of another package's tests.
#[path = "../../../../../net/mjpeg/tests/page/browser.rs"]
mod browser;
mod in_browser;
mod synthetic;
