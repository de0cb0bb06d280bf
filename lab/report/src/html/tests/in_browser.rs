//! Pages in headless Chromium: desktop and mobile, light and dark.

use std::time::Instant;

use serde_json::json;

use super::super::page;
use super::browser::Browser;
use super::pages::hostile;
use super::synthetic::{large, matrix, report_of};

const OPEN: &str = "document.querySelectorAll('details').forEach(d => { d.open = true })";
/// Elements that overflow the window and are not in a scrolling container.
const BEYOND: &str = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, .skip, svg, legend') && \
    e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.tagName + '.' + e.className).slice(0, 5).join(' ')";
const BACKGROUND: &str = "getComputedStyle(document.body).backgroundColor";
const LIGHT: &str = "rgb(255, 255, 255)";
const DARK: &str = "rgb(13, 17, 23)";

#[test]
fn a_page_fits_makes_no_requests_and_follows_the_colour_scheme() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (big, workload) = large();
    let (square, other) = report_of(&matrix());
    for (name, text) in [
        ("large", page(big, workload)),
        ("matrix", page(&square, &other)),
        ("hostile", page(&hostile(big), workload)),
    ] {
        let file = folder.path().join(format!("{name}.html"));
        std::fs::write(&file, text).unwrap();
        for (width, mode, background) in [(1280, "light", LIGHT), (390, "dark", DARK)] {
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500 }),
            );
            let features = json!([{ "name": "prefers-color-scheme", "value": mode }]);
            browser.call("Emulation.setEmulatedMedia", json!({ "features": features }));
            let begun = Instant::now();
            browser.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
            let is_loaded =
                format!("document.readyState == 'complete' && location.href.endsWith('{name}.html')");
            browser.wait_until(&is_loaded, || ());
            println!("{name}, {width} px: loaded after {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
            assert_eq!(browser.evaluate(BACKGROUND), background, "{name} {mode}");
            assert_eq!(browser.evaluate("performance.getEntriesByType('resource').length"), 0);
            assert_eq!(
                browser.evaluate("document.querySelectorAll('script, img, iframe, object').length"),
                0
            );
            for _ in 0..2 {
                assert_eq!(
                    browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
                    true,
                    "{name} {width}"
                );
                assert_eq!(browser.evaluate(BEYOND), "", "{name} {width}");
                // Repeat with all sections expanded.
                browser.evaluate(OPEN);
            }
        }
        browser.evaluate("document.getElementById('mode-light').click()");
        assert_eq!(browser.evaluate(BACKGROUND), LIGHT, "the reader's choice overrides the system's");
        browser.evaluate("document.getElementById('mode-auto').click()");
        assert_eq!(browser.evaluate(BACKGROUND), DARK);
    }
    let tab = |kind: &str| json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
    browser.evaluate("document.activeElement.blur()");
    for kind in ["rawKeyDown", "keyUp"] {
        browser.call("Input.dispatchKeyEvent", tab(kind));
    }
    assert_eq!(
        browser.evaluate("document.activeElement.className"),
        "skip",
        "the first focus is the skip link"
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
