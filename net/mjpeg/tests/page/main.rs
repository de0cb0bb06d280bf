//! The web page in headless Chromium: pictures and statistics change, and the layout fits all widths.
#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(all(feature = "web", feature = "pattern", target_os = "linux"))]

mod browser;
#[cfg(feature = "cli")]
mod senders;
#[cfg(feature = "cli")]
#[path = "../support/tool.rs"]
mod tool;

use std::time::Duration;

use browser::Browser;
use netdyno_mjpeg::source::{Pattern, PatternSettings, Source};
use netdyno_mjpeg::web::{Statistics, Web};
use serde_json::{Value, json};

/// The pictures and statistics to show.
struct Show {
    web: Web,
    pattern: Pattern,
    picture: Vec<u8>,
    statistics: Statistics,
}

impl Show {
    fn new() -> Self {
        let settings = PatternSettings { width: 640, height: 360, ..PatternSettings::default() };
        let mut statistics = Statistics::default();
        statistics.size = (settings.width, settings.height);
        (statistics.frames_per_s, statistics.bits_per_s) = (129.97, 41_234_567.0);
        (statistics.jitter_ms, statistics.sender) = (0.123, "a-sender@example <b>".to_owned());
        let web = Web::open("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { web, pattern: Pattern::new(settings).unwrap(), picture: Vec::new(), statistics }
    }

    /// Shows one more picture with statistics.
    fn next(&mut self) {
        self.pattern.next(&mut self.picture).unwrap();
        self.web.show(&self.picture);
        self.statistics.frames += 1;
        self.statistics.interval_jitter_ms = (self.statistics.frames * 7 % 11) as f64 / 4.0;
        self.web.update(&self.statistics);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A checksum of the displayed picture.
const PIXELS: &str = "(() => {
    const picture = document.getElementById('picture')
    if (picture.naturalWidth === 0) return 0
    const canvas = document.createElement('canvas')
    canvas.width = picture.naturalWidth
    canvas.height = picture.naturalHeight
    const context = canvas.getContext('2d')
    context.drawImage(picture, 0, 0)
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    return data.reduce((sum, value, index) => (sum + value * (index % 65_521)) % 1e12, 0)
})()";

fn text(browser: &mut Browser, id: &str) -> Value {
    browser.evaluate(&format!("document.getElementById('{id}').textContent"))
}

#[test]
fn picture_and_statistics_change() {
    let Some(mut browser) = Browser::start() else { return };
    let mut show = Show::new();
    browser.call("Page.navigate", json!({ "url": format!("http://{}/", show.web.address()) }));
    browser.wait_until("document.getElementById('state')?.textContent === 'waiting for a sender'", || {});

    browser.wait_until("document.getElementById('picture').naturalWidth === 640", || show.next());
    let first = browser.evaluate(PIXELS);
    browser.wait_until(&format!("{PIXELS} !== {first}"), || show.next());

    browser.wait_until("document.getElementById('state').textContent === 'live'", || show.next());
    assert_eq!(text(&mut browser, "size"), "640 × 360");
    assert_eq!(text(&mut browser, "rate"), "130.0");
    assert_eq!(text(&mut browser, "bandwidth"), "41.2");
    assert_eq!(text(&mut browser, "jitter"), "0.12");
    assert_eq!(text(&mut browser, "sender"), "from a-sender@example <b>");
    let frames = show.statistics.frames + 1;
    browser.wait_until(&format!("document.getElementById('frames').textContent === '{frames}'"), || {
        if show.statistics.frames < frames {
            show.next();
        }
    });
    (show.statistics.dropped, show.statistics.lost_packets) = (1234, 9_876_543);
    browser.wait_until("document.getElementById('dropped').textContent === '1,234'", || show.next());
    assert_eq!(browser.evaluate("document.getElementById('lost').className"), "bad");
    let points = "document.getElementById('line').points.numberOfItems";
    let before = browser.evaluate(points);
    browser.wait_until(&format!("{points} > {before}"), || show.next());
    check_layout(&mut browser, &mut show);

    // The stream stops, then the receiver stops and restarts at the same address.
    browser.wait_until("document.getElementById('state').textContent === 'no data from sender'", || {});
    let address = show.web.address();
    assert_eq!(browser.complaints, Vec::<String>::new());
    drop(show.web);
    browser.wait_until("document.getElementById('state').textContent === 'connection lost'", || {});
    let last = browser.evaluate(PIXELS);
    show.web = Web::open(address).unwrap();
    browser.wait_until("document.getElementById('state').textContent === 'live'", || show.next());
    browser.wait_until(&format!("{PIXELS} !== {last}"), || show.next());
}

/// Nothing is clipped or overlaps at any width, in light and dark. `NETDYNO_SCREENSHOTS` names a folder for screenshots.
fn check_layout(browser: &mut Browser, show: &mut Show) {
    let dark = "matchMedia('(prefers-color-scheme: dark)').matches";
    for (width, height, scheme) in [
        (320, 640, "light"),
        (320, 640, "dark"),
        (800, 600, "light"),
        (1920, 1080, "light"),
        (1920, 1080, "dark"),
    ] {
        // A long name.
        show.statistics.size = (7680, 4320);
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        let scheme_is = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", scheme_is);
        let is_there = format!(
            "{dark} === {} && innerWidth === {width} && document.getElementById('size').textContent === '7680 × 4320'",
            scheme == "dark"
        );
        browser.wait_until(&is_there, || show.next());
        if let Some(folder) = std::env::var_os("NETDYNO_SCREENSHOTS") {
            let shot = browser.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
            let name = format!("{width}-{scheme}.png.base64");
            std::fs::write(std::path::Path::new(&folder).join(name), shot["data"].as_str().unwrap()).unwrap();
        }
        // Elements beyond the window and clipped texts.
        let wrong = "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth \
            || getComputedStyle(e).display !== 'inline' && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML)";
        assert_eq!(browser.evaluate(wrong), json!([]), "cut off at {width}");
        let grounds = "getComputedStyle(document.body).backgroundColor";
        let is_dark = browser.evaluate(grounds) == "rgb(16, 19, 23)";
        assert_eq!(is_dark, scheme == "dark");
    }
}
