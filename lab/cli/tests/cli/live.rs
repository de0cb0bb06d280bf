//! A run followed in headless Chromium, and its pages in wide and narrow windows.

use std::process::Stdio;

use serde_json::json;

use crate::bench::Bench;
use crate::browser::Browser;
use crate::served::Served;

/// Elements that exceed the window outside of scrollable ones.
const BEYOND: &str = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, .skip, svg, legend') && \
    e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.tagName + '.' + e.className).slice(0, 5).join(' ')";

fn open(browser: &mut Browser, url: &str, width: u32) {
    let metrics = json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500 });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    browser.call("Page.navigate", json!({ "url": url }));
    browser.wait_until(&format!("document.readyState == 'complete' && location.href == '{url}'"), || ());
}

/// Saves a screenshot for manual inspection, if `NETDYNO_PICTURES` names a folder.
fn picture(browser: &mut Browser, name: &str) {
    if let Some(folder) = std::env::var_os("NETDYNO_PICTURES") {
        use base64::Engine;
        let shot = browser.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let png = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), png).unwrap();
    }
}

fn fits(browser: &mut Browser, what: &str) {
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, "{what}");
    assert_eq!(browser.evaluate(BEYOND), "", "{what}");
}

#[test]
fn a_run_is_followed_until_it_ends() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Bench::new(&[("one", None), ("two", None), ("liar", Some("wrong-digest"))]);
    bench.add_held("held");
    let served = Served::start(&bench, &[]);
    let arguments = ["run", "dummy", "--max-blocks", "7", "--set", "seconds=0.1", "--time-limits", "10"];
    let mut run = bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for_trials(&mut run, 2);
    let top = format!("http://{}/", served.address);
    open(&mut browser, &top, 390);
    assert_eq!(browser.evaluate("document.querySelectorAll('.goes').length > 0"), true);
    fits(&mut browser, "index");
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    let page = format!("{top}runs/{id}.html");
    for width in [1280, 390] {
        open(&mut browser, &page, width);
        // Its only trial may be the last of the block.
        browser.wait_until("/liar failed[^]*digest/.test(document.body.innerText)", || ());
        fits(&mut browser, "live");
        picture(&mut browser, &format!("live-begun-{width}"));
    }
    // Nothing is reloaded from here on: changes are sent.
    browser.evaluate("window.same = true");
    for block in [3, 5] {
        bench.allow(block);
        // Or the next one: contenders that come before the blocked one have already been measured in it.
        let block_now = "(document.body.innerText.match(/block (\\d+) of at most 7/) ?? [])[1]";
        browser.wait_until(&format!("window.same && {block_now} >= {block}"), || ());
    }
    browser.wait_until("document.querySelectorAll('.panels svg .whisker').length > 0", || ());
    picture(&mut browser, "live-390");
    bench.release();
    assert_eq!(run.wait().unwrap().code(), Some(3));
    browser.wait_until("!window.same && document.body.innerText.includes('Stopped')", || ());
    assert_eq!(
        browser.evaluate("document.querySelectorAll('script').length"),
        0,
        "the page of a run that has ended"
    );
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn pages_fit_wide_and_narrow_from_a_server_and_from_files() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Bench::new(&[("one", None), ("two", None)]);
    for _ in 0..2 {
        let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "3", "--set", "seconds=0.1"]);
        assert_eq!(seen.code, 0, "{seen:?}");
    }
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"2000\" height=\"20\"><rect width=\"9\" height=\"9\"/></svg>";
    bench.write("docs/studies/a.svg", svg);
    let wide =
        format!("| {} |\n|{}|\n", vec!["column of a wide table"; 20].join(" | "), vec!["---:"; 20].join("|"));
    bench.write("docs/studies/wide.md", &format!("# Wide\n\n{wide}\n![a](a.svg)\n\n`{}`\n", "x".repeat(300)));
    let folder = bench.path("public").display().to_string();
    assert_eq!(bench.netdyno(&["site", &folder]).code, 0);
    let served = Served::start(&bench, &[]);
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    for from in [format!("http://{}", served.address), format!("file://{folder}")] {
        for path in [
            "index.html",
            "runs-1.html",
            "history/dummy.html",
            "studies/wide.html",
            &format!("runs/{id}.html"),
        ] {
            for width in [1280, 390] {
                open(&mut browser, &format!("{from}/{path}"), width);
                fits(&mut browser, &format!("{from}/{path} at {width} px"));
                if from.starts_with("http") {
                    picture(&mut browser, &format!("{}-{width}", path.replace(['/', '.'], "-")));
                }
            }
            // Its style sheet and pictures are loaded.
            assert_eq!(browser.evaluate("getComputedStyle(document.body).margin"), "0px", "{from}/{path}");
            let broken = "[...document.images].filter(i => !i.complete || i.naturalWidth == 0).length";
            assert_eq!(browser.evaluate(broken), 0, "{from}/{path}");
        }
        open(&mut browser, &format!("{from}/index.html"), 1280);
        browser.evaluate(&format!("document.querySelector('a[href=\"runs/{id}.html\"]').click()"));
        browser.wait_until(&format!("location.href.endsWith('/runs/{id}.html')"), || ());
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
