//! The tool's command line and output.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;
mod tool;

use std::process::Command;

use support::alone;
use tool::{Running, TOOL, json_lines, run};

#[test]
fn scan_get_set_and_watch() {
    alone("scan_get_set_and_watch", || {
        let folder = tempfile::tempdir().unwrap();
        let mut home = Running::home(&folder);
        let (code, out, _) = run(&["scan", "--wait", "0.7"]);
        assert_eq!(code, Some(0));
        assert!(out.starts_with("NODE") && !out.contains('\x1b'), "no colours on a pipe: {out}");
        assert_eq!(out.lines().filter(|line| line.contains("029101")).count(), 3, "{out}");
        let (_, out, _) = run(&["--json", "scan", "--wait", "0.7"]);
        let nodes: Vec<_> = json_lines(&out).iter().map(|line| line["node"].clone()).collect();
        assert_eq!(nodes, ["127.1.0.1", "127.1.0.2", "127.1.0.3"]);

        let (code, out, _) = run(&["--json", "get", "127.1.0.2"]);
        assert_eq!(code, Some(0));
        let all = json_lines(&out);
        let bytes = |object: &str, epc: &str| {
            let found = all.iter().find(|line| line["object"] == object && line["epc"] == epc);
            found.unwrap_or_else(|| panic!("{object} {epc}: {out}"))["bytes"].clone()
        };
        assert_eq!((bytes("029101", "B0"), bytes("0EF001", "D6")), ("64".into(), "01029101".into()));

        let mut watch = Running::start(&["-i", "lo", "--address", "127.0.0.3", "--json", "watch"]);
        while watch.line()["node"] != "127.1.0.2" {}
        let (code, out, _) = run(&["set", "127.1.0.2", "029101", "80=31", "B0=0x10"]);
        assert_eq!(code, Some(0), "{out}");
        assert_eq!(out.matches(": done").count(), 2, "{out}");
        let written = home.line();
        assert_eq!((&written["node"], &written["bytes"]), (&"127.1.0.2".into(), &"31".into()));
        let message =
            std::iter::repeat_with(|| watch.line()).find(|line| line["object"] == "029101").unwrap();
        assert_eq!(
            (&message["node"], &message["epc"], &message["bytes"]),
            (&"127.1.0.2".into(), &"80".into(), &"31".into())
        );
        assert_eq!(watch.interrupt(), Some(0));
        let (_, out, _) = run(&["--json", "get", "127.1.0.2", "029101", "80", "B0"]);
        assert_eq!(json_lines(&out)[1]["bytes"], "10");
        // 120 %: a valid length, but an invalid value.
        let (code, out, _) = run(&["set", "127.1.0.2", "029101", "B0=0x78"]);
        assert!(code == Some(1) && out.contains("refused"), "{out}");
        let refused = std::iter::repeat_with(|| home.line()).find(|line| line["event"] == "refused").unwrap();
        assert_eq!((&refused["epc"], &refused["bytes"]), (&"B0".into(), &"78".into()));
        assert_eq!(home.interrupt(), Some(0));
    });
}

#[test]
fn uses_tcp_on_request() {
    alone("uses_tcp_on_request", || {
        let folder = tempfile::tempdir().unwrap();
        let mut home = Running::home_with(&folder, &["--tcp"]);
        let (code, out, _) = run(&["--tcp", "set", "127.1.0.2", "029101", "80=off"]);
        assert_eq!(code, Some(0), "{out}");
        let written = home.line();
        assert_eq!(
            (&written["node"], &written["from"], &written["bytes"]),
            (&"127.1.0.2".into(), &"127.0.0.1".into(), &"31".into()),
            "each address has its own node, also over TCP"
        );
        for (node, status) in [("127.1.0.1", "30"), ("127.1.0.2", "31")] {
            let (code, out, _) = run(&["--json", "--tcp", "get", node, "029101", "80"]);
            assert_eq!((code, &json_lines(&out)[0]["bytes"]), (Some(0), &status.into()));
        }
        let (_, out, _) = run(&["--json", "--tcp", "scan", "--wait", "0.7"]);
        let states: Vec<_> = json_lines(&out).iter().map(|line| line["state"].clone()).collect();
        assert_eq!(states.len(), 3, "{out}");
        assert_ne!(states[0], states[1]);
        assert_eq!(home.interrupt(), Some(0));

        let _udp_alone = Running::home(&folder);
        let (code, _, message) = run(&["--tcp", "get", "127.1.0.2", "029101", "80"]);
        assert!(code == Some(1) && message.contains("supports TCP"), "{message}");
        let (code, out, message) = run(&["--json", "--tcp", "--or-udp", "get", "127.1.0.2", "029101", "80"]);
        assert_eq!((code, json_lines(&out).len()), (Some(0), 1), "{message}");
    });
}

#[test]
fn errors_have_remedies() {
    alone("errors_have_remedies", || {
        let folder = tempfile::tempdir().unwrap();
        let _home = Running::home(&folder);
        for (arguments, part) in [
            (&["get", "lamp"][..], "a node is an address, such as 192.168.1.20"),
            (&["get", "127.1.0.1", "lamp of mine"], "six hexadecimal digits"),
            (&["get", "127.1.0.1", "029101", "xyz"], "two hexadecimal digits"),
            (&["get", "127.1.0.1", "029101", "E1"], "refuses to read E1"),
            (&["get", "127.1.0.1", "029102"], "does it have this object?"),
            (
                &["--timeout", "0.05", "--retries", "0", "get", "127.0.0.99", "029101", "80"],
                "did not answer in time",
            ),
            (
                &["--retries", "0", "--timeout", "0.05", "get", "127.0.0.98"],
                "127.0.0.98: the node did not answer",
            ),
            (&["get", "10.9.9.9"], "10.9.9.9: the request could not be sent (network unreachable)"),
            (&["get", "10.9.9.9", "029101"], "the request could not be sent (network unreachable)"),
            (&["set", "10.9.9.9", "029101", "80=on"], "the request could not be sent (network unreachable)"),
            (&["get", "::1"], "add --ip 6"),
            (&["--ip", "6", "get", "127.1.0.1"], "remove --ip 6"),
            (&["names", "0F01"], "with --mra"),
            (&["set", "127.1.0.1", "029101", "80"], "must be PROPERTY=VALUE"),
            (&["simulate", "/nothing/there.toml"], "give the path of a home's file"),
            (&["bridge", "--mqtt", "http://x"], "mqtt://localhost"),
            (&["--interface", "nothing0", "scan"], "no active interface matches nothing0"),
        ] {
            let (code, _, message) = run(arguments);
            assert!(code == Some(1) && message.contains(part), "{arguments:?}: {code:?} {message}");
        }
        let (code, out, _) = run(&["set", "127.1.0.1", "029101", "8A=000001"]);
        assert!(code == Some(1) && out.contains("refused"), "{out}");
        assert_eq!(run(&["scan", "--wait", "x"]).0, Some(2));
        let (code, out, _) = run(&["--help"]);
        assert!(code == Some(0) && out.contains("netdyno-echonet scan"), "{out}");
        // Two programs on one port.
        let output = Command::new(TOOL).args(["-i", "lo", "scan", "--wait", "0.1"]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("another ECHONET Lite program uses it"), "{message}");
    });
}

#[test]
fn names_lists_what_the_command_line_accepts() {
    let (code, out, _) = run(&["--json", "names", "home_air_conditioner"]);
    assert_eq!(code, Some(0));
    let all = json_lines(&out);
    let of =
        |name: &str| all.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}: {out}"));
    assert_eq!(
        (&of("target_temperature")["epc"], &of("target_temperature")["values"]),
        (&"B3".into(), &"0 to 50 °C".into())
    );
    // From the super class.
    assert_eq!(of("installation_location")["epc"], "81");
    let (_, out, _) = run(&["names"]);
    assert!(out.lines().any(|line| line.starts_with("0291   mono_functional_lighting")), "{out}");
}

/// An archive with the consortium's layout, including its files of rules.
fn archive(folder: &std::path::Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join("mraData").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("metaData.json", r#"{ "metaData": { "release": "R" } }"#);
    write(
        "definitions/definitions.json",
        r#"{ "definitions": { "raw_3": { "type": "raw", "minSize": 3, "maxSize": 3 } } }"#,
    );
    write("MCRules/0x0F01_mcrule.json", r#"{ "mcrules": [] }"#);
    let class = r##"{ "eoj": "0x0F01", "shortName": "toaster", "className": { "en": "Toaster" }, "elProperties": [
        { "epc": "0xE0", "shortName": "browning", "propertyName": { "en": "Browning" },
          "accessRule": { "get": "required", "set": "required", "inf": "optional" },
          "data": { "type": "number", "format": "uint8", "minimum": 1, "maximum": 6 } }] }"##;
    write("devices/0x0F01.json", class);
}

#[test]
fn reads_the_consortiums_archive() {
    let folder = tempfile::tempdir().unwrap();
    archive(folder.path());
    let mra = ["--mra", folder.path().to_str().unwrap(), "--json"];
    let (code, out, message) = run(&[&mra[..], &["names", "toaster"]].concat());
    assert_eq!(code, Some(0), "{message}");
    assert_eq!(json_lines(&out)[0]["name"], "browning", "{out}");
    let (_, out, _) = run(&[&mra[..], &["names"]].concat());
    assert!(json_lines(&out).iter().any(|line| line["name"] == "home_air_conditioner"), "{out}");
}

#[test]
fn ctrl_c_ends_waiting_verbs() {
    alone("ctrl_c_ends_waiting_verbs", || {
        let patient = ["-i", "lo", "--address", "127.0.0.1", "--timeout", "600"];
        let waits: [&[&str]; 4] = [
            &["get", "127.9.9.9"],
            &["set", "127.9.9.9", "029101", "80=on"],
            &["scan", "--wait", "600"],
            // The farewell is skipped, since there is no broker.
            &["bridge", "--mqtt", "mqtt://127.0.0.1:1"],
        ];
        for (verb, ends) in waits.iter().zip([None, None, None, Some(0)]) {
            let mut running = Running::start(&[&patient[..], verb].concat());
            // The bound port shows that it has started and waits.
            support::until("bound", || std::fs::read_to_string("/proc/net/udp").unwrap().contains(":0E1A"));
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert_eq!(running.interrupt(), ends, "{verb:?}");
        }
    });
}
