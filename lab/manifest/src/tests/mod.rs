//! One valid manifest of each kind, and the error for every edit of it.
#![allow(clippy::unwrap_used)]
use std::path::Path;

use super::*;

mod catalog;
mod robust;

const WORKLOAD: &str = r#"
name = "w"
title = "W"
about = "a job"
baseline = "pion"
roles = ["a", "b"]
contract = "do it"
[params.pairs]
kind = "integer"
default = 2
min = 1
max = 100
unit = "connections"
about = "how many"
[params.length]
kind = "integer"
default = 80
min = 1
max = 1000
about = "bytes"
[params.ordered]
kind = "boolean"
default = true
about = "in order"
[params.seconds]
kind = "number"
default = 3
min = 0.5
about = "how long"
[params.transport]
kind = "text"
default = "udp"
choices = ["udp", "tcp"]
about = "over what"
[requires]
ordered = { true = "ordered" }
length = { max = "max_length" }
transport = { tcp = "tcp" }
[gate]
role = "b"
streams = "pairs"
messages = "pairs"
message_bytes = "length"
zero = ["gaps"]
zero_if = { ordered = ["disorder"] }
[[metrics]]
name = "rate"
label = "rate"
unit = "1/s"
better = "higher"
primary = true
from = { rate = { role = "b", counter = "messages" } }
[presets.quick]
about = "soon"
params = { seconds = 1 }
min_blocks = 2
max_blocks = 8
budget_seconds = 60
[params.warmup_seconds]
kind = "number"
default = 0.5
about = "traffic before"
"#;

const CONTENDER: &str = r#"
name = "pion"
workload = "w"
language = "go"
about = "Pion"
license = "MIT"
tuning = "defaults"
[implementation]
module = "github.com/pion/webrtc/v4"
version = "4.0.0"
[build]
tool = "go"
needs = [{ program = "cmake", apt = "cmake" }, { pkg_config = "openssl", apt = "libssl-dev" }]
[roles.a]
run = ["{bin}", "--in={dir}"]
env = { GOGC = "100" }
[capabilities]
ordered = true
max_length = 500
tcp = false
"#;

fn workload(text: &str) -> Result<Workload, Vec<ManifestError>> {
    Workload::parse(Path::new("workloads/w.toml"), text)
}

fn contender(text: &str) -> Result<Contender, Vec<ManifestError>> {
    let file = Path::new("contenders/w/pion/contender.toml");
    let contender = Contender::parse(file, text)?;
    contender.check_against(&workload(WORKLOAD)?, file, text)?;
    Ok(contender)
}

fn shown<T>(result: Result<T, Vec<ManifestError>>) -> String {
    let errors = result.err().unwrap_or_default();
    errors.iter().map(ManifestError::to_string).collect::<Vec<_>>().join("\n")
}

/// An edit of a valid manifest, and the expected error.
#[track_caller]
fn check<T>(
    parse: impl Fn(&str) -> Result<T, Vec<ManifestError>>,
    valid: &str,
    from: &str,
    to: &str,
    error: &str,
) {
    assert_eq!(shown(parse(valid)), "");
    assert!(valid.contains(from), "{from}");
    assert_eq!(shown(parse(&valid.replacen(from, to, 1))), error);
}

#[test]
fn a_broken_workload_has_position_and_reason() {
    let check = |from, to, error| check(workload, WORKLOAD, from, to, error);
    check(
        "name = \"w\"",
        "name = \"v\"",
        "workloads/w.toml:2: name: \"v\" must be the file's name without .toml",
    );
    check(
        "title =",
        "tilte =",
        "workloads/w.toml:3: tilte: unknown field `tilte`, expected one of `name`, `title`, `about`, \
         `roles`, `ceiling`, `baseline`, `first_look`, `partners`, `stand_ins`, `networks_apart`, `contract`, `params`, `inputs`, `requires`, `gate`, `offered`, \
         `one_cpu_max`, `detect`, `turns`, `marks_hz`, `metrics`, `presets` (did you mean title?)",
    );
    check(
        "title =",
        "first_look = [\"a\", \"a\"]\ntitle =",
        "workloads/w.toml:3: first_look[1]: contender \"a\" is listed twice",
    );
    check(
        "default = 2",
        "default = 0",
        "workloads/w.toml:10: params.pairs.default: 0 is too small; the minimum is 1 connections",
    );
    check(
        "default = true",
        "default = 1",
        "workloads/w.toml:23: params.ordered.default: 1 is not true or false",
    );
    check(
        "role = \"b\"\nstreams",
        "role = \"c\"\nstreams",
        "workloads/w.toml:40: gate.role: unknown role \"c\"; known: a, b",
    );
    check(
        "streams = \"pairs\"",
        "streams = \"pair\"",
        "workloads/w.toml:41: gate.streams: unknown parameter \"pair\"; known: pairs, length, ordered, seconds, \
         transport, warmup_seconds (did you mean pairs?)",
    );
    check(
        "streams = \"pairs\"",
        "streams = -1",
        "workloads/w.toml:41: gate.streams: must be a whole number or the name of a parameter",
    );
    check(
        "counter = \"messages\"",
        "counter = \"messages\", increments = 0",
        "workloads/w.toml:52: metrics[0].from.rate.increments: must be at least 1",
    );
    check(
        "baseline = \"pion\"",
        "networks_apart = \" \"",
        "workloads/w.toml:5: networks_apart: must not be empty",
    );
    check(
        "primary = true",
        "primary = false",
        "workloads/w.toml:46: metrics: 0 have primary = true; exactly one must",
    );
    check(
        "rate = {",
        "rat = {",
        "workloads/w.toml:52: metrics[0].from: unknown variant `rat`, expected one of `rate`, `count`, \
         `setup_quantile`, `cpu_per`, `meter`, `meter_growth`, `meter_per`, `wire`, `wire_per`, `histogram_quantile` (did you mean rate?)",
    );
    check(
        "{ tcp = \"tcp\" }",
        "{ tpc = \"tcp\" }",
        "workloads/w.toml:38: requires.transport.tpc: unknown value \"tpc\"; known: udp, tcp (did you mean tcp?)",
    );
    check(
        "max_blocks = 8",
        "max_blocks = 1",
        "workloads/w.toml:57: presets.quick.max_blocks: must be from min_blocks, 2, to 100000",
    );
    for (added, error) in [
        ("[partners]\nc = \"x\"", "partners.c: unknown role \"c\"; known: a, b"),
        ("[partners]\na = \"x\"\nb = \"x\"", "partners: must leave at least one role to compare"),
        ("[stand_ins]\nc = \"x\"", "stand_ins.c: unknown role \"c\"; known: a, b"),
        (
            "[stand_ins]\na = \"x\"\n[partners]\na = \"y\"",
            "stand_ins.a: its partner plays it for all: name one of them only",
        ),
        (
            "[turns]\nturn_ms = 1\nlead_ms = 1\nstretch_ms = 2\nstretch_every = 1\ntogether = 2\nunder_way = [\"ordered\"]",
            "turns.under_way: parameter \"ordered\" must be a whole number",
        ),
        (
            "[offered]\nparam = \"pair\"\nrole = \"b\"\ncounter = \"n\"",
            "offered.param: unknown parameter \"pair\"",
        ),
        ("[offered]\nparam = \"pairs\"\nrole = \"c\"\ncounter = \"n\"", "offered.role: unknown role \"c\""),
        ("[one_cpu_max]\npairs = 0", "one_cpu_max.pairs: 0 is too small"),
        (
            "[turns]\nturn_ms = 0\nlead_ms = 1\nstretch_ms = 1\nstretch_every = 1\ntogether = 2",
            "turns.turn_ms: must be from 1 to 10000",
        ),
        (
            "[turns]\nturn_ms = 1\nlead_ms = 1\nstretch_ms = 2\nstretch_every = 1\ntogether = 3\nonly = { pairs = 0 }",
            "turns.only.pairs: 0 is too small",
        ),
        (
            "[turns]\nturn_ms = 1\nlead_ms = 1\nturns_max = 1\nstretch_ms = 2\nstretch_every = 1\ntogether = 2",
            "turns.turns_max: must be from 2 to 1000",
        ),
        (
            "[turns]\nturn_ms = 5\nlead_ms = 1\nstretch_ms = 5\nstretch_every = 1\ntogether = 2",
            "turns.stretch_ms: must be longer than a turn",
        ),
        (
            "[turns]\nturn_ms = 1\nlead_ms = 1\nstretch_ms = 2\nstretch_every = 1\ntogether = 1",
            "turns.together: must be from 2 to 16",
        ),
        ("[detect]\nparam = \"pairs\"\nfrom = 1\nvalues = [5, 101]", "detect.values: 101 is too large"),
        ("[detect]\nparam = \"pairs\"\nfrom = 1\nvalues = []", "detect.values: must have at least one value"),
    ] {
        let with = format!("[params.warmup_seconds]{}", "");
        let error_of = shown(workload(&WORKLOAD.replacen(&with, &format!("{added}\n{with}"), 1)));
        assert!(error_of.contains(error), "{added}: {error_of}");
    }
    check(
        "params = { seconds = 1 }",
        "params = { seconds = 1 }\nsweep = [{ pairs = [1, 2] }, { pairs = [200] }]",
        "workloads/w.toml:56: presets.quick.sweep[1].pairs: 200 is too large; the maximum is 100 connections",
    );
    // The TOML parser's message, with our position.
    let error = shown(workload(&WORKLOAD.replacen("about = ", "about ", 1)));
    assert!(error.starts_with("workloads/w.toml:4: "), "{error}");
}

#[test]
fn a_broken_contender_has_position_and_reason() {
    let check = |from, to, error| check(contender, CONTENDER, from, to, error);
    check(
        "{bin}",
        "{binn}",
        "contenders/w/pion/contender.toml:15: roles.a.run[0]: unknown placeholder {binn}; known: {bin} {dir} {src} \
         (did you mean {bin}?)",
    );
    check(
        "{bin}",
        "{python}",
        "contenders/w/pion/contender.toml:15: roles.a.run[0]: {python} is for another build tool; known: {bin} {dir} {src}",
    );
    check(
        "{bin}",
        "{bin",
        "contenders/w/pion/contender.toml:15: roles.a.run[0]: an unmatched brace in \"{bin\"; known: {bin} {dir} {src}",
    );
    check(
        "tuning = \"defaults\"",
        "tuning = \"peak\"",
        "contenders/w/pion/contender.toml: tuned: must list what was tuned, since tuning = \"peak\"",
    );
    check(
        "[roles.a]",
        "[roles.c]",
        "contenders/w/pion/contender.toml:14: roles.c: unknown role \"c\"; known: a, b",
    );
    check(
        "tool = \"go\"",
        "tool = \"Go\"",
        "contenders/w/pion/contender.toml:12: build.tool: unknown variant `Go`, expected one of `cargo`, `cc`, `go`, \
         `java`, `npm`, `pip`, `system` (did you mean go?)",
    );
    check(
        "max_length = 500",
        "max_lenght = 500",
        "contenders/w/pion/contender.toml:17: capabilities.max_length: missing; workload w needs it as a whole number \
         (max_lenght stands there instead)",
    );
    check(
        "program = \"cmake\", ",
        "",
        "contenders/w/pion/contender.toml:13: build.needs[0]: needs exactly one of program and pkg_config",
    );
}

#[test]
fn every_workload_has_its_windows() {
    let message = shown(workload(&WORKLOAD.replace("[params.warmup_seconds]", "[params.other]")));
    assert!(message.contains("params.warmup_seconds: missing"), "{message}");
}

#[test]
fn all_problems_of_a_manifest_are_reported() {
    let text = CONTENDER.replace("\"Pion\"", "\"\"").replace("{bin}", "{x}").replace("\"MIT\"", "\" \"");
    assert_eq!(contender(&text).unwrap_err().len(), 3);
}

#[test]
fn parameters_resolve_in_layers_and_keep_their_order() {
    let workload = workload(WORKLOAD).unwrap();
    let typed = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let params = workload.resolve(Some("quick"), &typed(&[("ordered", "false"), ("pairs", "1_0")])).unwrap();
    let json =
        r#"{"pairs":10,"length":80,"ordered":false,"seconds":1.0,"transport":"udp","warmup_seconds":0.5}"#;
    assert_eq!(serde_json::to_string(&params).unwrap(), json);
    assert_eq!(serde_json::from_str::<Params>(json).unwrap(), params);
    let error = |pairs: &[(&str, &str)]| workload.resolve(None, &typed(pairs)).unwrap_err().to_string();
    let known = "pairs, length, ordered, seconds, transport, warmup_seconds";
    assert_eq!(
        error(&[("pair", "1")]),
        format!("unknown parameter \"pair\"; did you mean \"pairs\"?; known: {known}")
    );
    assert_eq!(
        error(&[("pairs", "101")]),
        "parameter \"pairs\": 101 is too large; the maximum is 100 connections"
    );
    assert_eq!(error(&[("pairs", "many")]), "parameter \"pairs\": \"many\" is not a whole number");
    assert_eq!(error(&[("seconds", "nan")]), "parameter \"seconds\": NaN is not a number");
    assert_eq!(
        error(&[("transport", "tpc")]),
        "parameter \"transport\": tpc is not one of udp, tcp (did you mean tcp?)"
    );
    assert!(workload.resolve(Some("quik"), &[]).unwrap_err().to_string().contains("did you mean \"quick\"?"));
}

#[test]
fn capabilities_decide_what_a_contender_supports() {
    let (workload, contender) = (workload(WORKLOAD).unwrap(), contender(CONTENDER).unwrap());
    let supports = |name: &str, text: &str| {
        let params = workload.resolve(None, &[(name.to_owned(), text.to_owned())]).unwrap();
        contender.supports(&workload, &params)
    };
    assert_eq!(supports("length", "500"), Ok(()));
    assert_eq!(
        supports("length", "501"),
        Err("length=501 needs the capability max_length, which is 500".to_owned())
    );
    assert_eq!(supports("ordered", "false"), Ok(()));
    assert_eq!(
        supports("transport", "tcp"),
        Err("transport=tcp needs the capability tcp, which is false".to_owned())
    );
}

#[test]
fn the_gate_computes_counts_and_rejects_excessive_work() {
    let workload = workload(WORKLOAD).unwrap();
    let expected = |pairs: &str, length: &str, seed| {
        let typed = [("pairs".to_owned(), pairs.to_owned()), ("length".to_owned(), length.to_owned())];
        workload.gate.expected(&workload.resolve(None, &typed).unwrap(), seed)
    };
    // gate.rs tests the digest of one message; here are the counts and the errors.
    let four = expected("4", "80", 1).unwrap();
    assert_eq!((four.messages, four.bytes, four.digest.len()), (16, 1280, 64));
    assert_eq!(expected("4", "16", 1).unwrap().bytes, 256);
    assert_eq!(expected("4", "3", 1).unwrap().bytes, 48, "no header");
    let mut fixed = workload.gate.clone();
    (fixed.streams, fixed.messages, fixed.message_bytes) =
        (Amount::Fixed(1), Some(Amount::Fixed(1)), Some(Amount::Fixed(13)));
    let one = fixed.expected(&workload.resolve(None, &[]).unwrap(), 1).unwrap();
    assert_eq!((one.messages, one.bytes), (1, 13));
    fixed.messages = None;
    assert!(fixed.expected(&workload.resolve(None, &[]).unwrap(), 1).is_err(), "an input would tell it");
    assert!(expected("4", "16", 1 << 53).unwrap_err().to_string().contains("53 bits"));
    let params = workload.resolve(None, &[]).unwrap();
    assert_eq!(workload.gate.zero_counters(&params), ["gaps", "disorder"]);
}

/// In a workload whose primary metric is a's cost, with a stand-in for b.
#[test]
fn one_role_can_be_compared_alone() {
    let cost = |name: &str, of: &str, primary: bool| {
        format!(
            "[[metrics]]\nname = \"{name}\"\nlabel = \"x\"\nunit = \"ns\"\nbetter = \"lower\"\nprimary = {primary}\n\
             from = {{ cpu_per = {{ role = \"b\", counter = \"messages\", of = \"{of}\" }} }}\n"
        )
    };
    let text = WORKLOAD.replace("primary = true", "primary = false").replace(
        "[presets.quick]",
        &format!(
            "{}{}[stand_ins]\na = \"c\"\nb = \"c\"\n[presets.quick]",
            cost("of_a", "a", true),
            cost("of_b", "b", false)
        ),
    );
    let workload = workload(&text).unwrap();
    for (role, other, primary) in [("a", "b", "of_a"), ("b", "a", "of_b")] {
        let of_role = workload.clone().of_role(role).unwrap();
        assert_eq!(of_role.compared().collect::<Vec<_>>(), [role]);
        assert_eq!((of_role.partners[other].as_str(), of_role.stand_ins.len()), ("c", 1));
        assert_eq!(of_role.primary().unwrap().name, primary);
        assert_eq!(of_role.metrics.iter().filter(|m| m.primary).count(), 1);
    }
    assert!(workload.clone().of_role("c").unwrap_err().to_string().contains("known: a, b"));
}
