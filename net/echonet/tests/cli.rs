//! The tool, as people and programs call it.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rumqttc::{Client, Connection, Event, MqttOptions, Packet, QoS};
use serde_json::Value;
use support::{alone, skip};

const TOOL: &str = env!("CARGO_BIN_EXE_netdyno-echonet");

const HOME: &str = r#"
[[nodes]]
count = 3
address = "127.1.0.1"
manufacturer = "00000B"
unique = "light"
[[nodes.objects]]
class = "0291"
properties.operation_status = "on"
properties.light_level = 100
"#;

/// A running tool, ended with the test.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

fn read_lines(out: ChildStdout) -> Receiver<String> {
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).all(|line| tell.send(line).is_ok())
    });
    lines
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(TOOL).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = read_lines(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn home(folder: &tempfile::TempDir) -> Self {
        Self::home_with(folder, &[])
    }

    fn home_with(folder: &tempfile::TempDir, options: &[&str]) -> Self {
        let path = folder.path().join("home.toml");
        std::fs::File::create(&path).unwrap().write_all(HOME.as_bytes()).unwrap();
        let verb = ["--interface", "lo", "--json", "simulate", path.to_str().unwrap()];
        let mut home = Self::start(&[&verb, options].concat());
        let told = home.line();
        assert_eq!((&told["nodes"], &told["tcp"]), (&3.into(), &options.contains(&"--tcp").into()));
        home
    }

    #[track_caller]
    fn line(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("a line in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// As Ctrl-C does.
    fn interrupt(&mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs it to its end: exit code, stdout, stderr.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let all = [&["--interface", "lo", "--address", "127.0.0.1"], arguments].concat();
    let output = Command::new(TOOL).args(all).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn finds_reads_writes_and_watches() {
    alone("finds_reads_writes_and_watches", || {
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
        let told = std::iter::repeat_with(|| watch.line()).find(|line| line["object"] == "029101").unwrap();
        assert_eq!(
            (&told["node"], &told["epc"], &told["bytes"]),
            (&"127.1.0.2".into(), &"80".into(), &"31".into())
        );
        assert_eq!(watch.interrupt(), Some(0));
        let (_, out, _) = run(&["--json", "get", "127.1.0.2", "029101", "80", "B0"]);
        assert_eq!(json_lines(&out)[1]["bytes"], "10");
        // 120 %: the length is right, the value is none.
        let (code, out, _) = run(&["set", "127.1.0.2", "029101", "B0=0x78"]);
        assert!(code == Some(1) && out.contains("refused"), "{out}");
        let refused = std::iter::repeat_with(|| home.line()).find(|line| line["event"] == "refused").unwrap();
        assert_eq!((&refused["epc"], &refused["bytes"]), (&"B0".into(), &"78".into()));
        assert_eq!(home.interrupt(), Some(0));
    });
}

#[test]
fn speaks_tcp_where_it_is_asked_to() {
    alone("speaks_tcp_where_it_is_asked_to", || {
        let folder = tempfile::tempdir().unwrap();
        let mut home = Running::home_with(&folder, &["--tcp"]);
        let (code, out, _) = run(&["--tcp", "set", "127.1.0.2", "029101", "80=off"]);
        assert_eq!(code, Some(0), "{out}");
        let written = home.line();
        assert_eq!(
            (&written["node"], &written["from"], &written["bytes"]),
            (&"127.1.0.2".into(), &"127.0.0.1".into(), &"31".into()),
            "each address has its own node, by TCP too"
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
        let (code, _, told) = run(&["--tcp", "get", "127.1.0.2", "029101", "80"]);
        assert!(code == Some(1) && told.contains("does it speak TCP?"), "{told}");
    });
}

#[test]
fn what_goes_wrong_is_told_with_a_remedy() {
    alone("what_goes_wrong_is_told_with_a_remedy", || {
        let folder = tempfile::tempdir().unwrap();
        let _home = Running::home(&folder);
        for (arguments, part) in [
            (&["get", "lamp"][..], "a node is an address, such as 192.168.1.20"),
            (&["get", "127.1.0.1", "lamp of mine"], "six hexadecimal digits"),
            (&["get", "127.1.0.1", "029101", "xyz"], "two hexadecimal digits"),
            (&["get", "127.1.0.1", "029101", "E1"], "refuses to tell E1"),
            (&["get", "127.1.0.1", "029102"], "has it such an object?"),
            (
                &["--timeout", "0.05", "--retries", "0", "get", "127.0.0.99", "029101", "80"],
                "did not answer in time",
            ),
            (&["set", "127.1.0.1", "029101", "80"], "must be PROPERTY=VALUE"),
            (&["simulate", "/nothing/there.toml"], "give the path of a home's file"),
            (&["bridge", "--mqtt", "http://x"], "mqtt://localhost"),
            (&["--interface", "nothing0", "scan"], "no interface nothing0"),
        ] {
            let (code, _, told) = run(arguments);
            assert!(code == Some(1) && told.contains(part), "{arguments:?}: {code:?} {told}");
        }
        let (code, out, _) = run(&["set", "127.1.0.1", "029101", "8A=000001"]);
        assert!(code == Some(1) && out.contains("refused"), "{out}");
        assert_eq!(run(&["scan", "--wait", "x"]).0, Some(2));
        let (code, out, _) = run(&["--help"]);
        assert!(code == Some(0) && out.contains("netdyno-echonet scan"), "{out}");
        // Two on one port.
        let output = Command::new(TOOL).args(["-i", "lo", "scan", "--wait", "0.1"]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("another program here speaks ECHONET Lite"), "{told}");
    });
}

/// A broker, ended with the test.
struct Broker(Child);

impl Broker {
    fn start(folder: &tempfile::TempDir) -> Option<Self> {
        let path = folder.path().join("mosquitto.conf");
        std::fs::write(&path, "user root\nlistener 1883 127.0.0.1\nallow_anonymous true\n").unwrap();
        let known = ["mosquitto", "/usr/sbin/mosquitto"];
        let child = known.iter().find_map(|program| {
            Command::new(program).arg("-c").arg(&path).stderr(Stdio::null()).spawn().ok()
        });
        Some(Self(child?))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client's messages. Its connection is turned all the time, so that what it publishes goes out.
fn messages(mut connection: Connection) -> Receiver<(String, String)> {
    let (tell, messages) = channel();
    std::thread::spawn(move || {
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::Publish(message))) => {
                    let payload = String::from_utf8(message.payload.to_vec()).unwrap();
                    if tell.send((message.topic, payload)).is_err() {
                        return;
                    }
                }
                // The broker is not up yet.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
                Ok(_) => {}
            }
        }
    });
    messages
}

/// Takes messages until one is as wanted.
fn await_message(
    messages: &Receiver<(String, String)>,
    what: &str,
    mut wanted: impl FnMut(&str, &str) -> bool,
) {
    let until = Instant::now() + Duration::from_secs(30);
    while let Ok((topic, payload)) = messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
        if wanted(&topic, &payload) {
            return;
        }
    }
    panic!("no {what} in time");
}

#[test]
fn bridges_to_a_broker() {
    alone("bridges_to_a_broker", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut broker) = Broker::start(&folder) else {
            return skip("mosquitto (Debian: apt-get install mosquitto)");
        };
        let mut home = Running::home(&folder);
        let bridge = [
            "-i",
            "lo",
            "--address",
            "127.0.0.1",
            "--json",
            "bridge",
            "--mqtt",
            "mqtt://127.0.0.1",
            "--poll",
            "1",
        ];
        let mut bridge = Running::start(&bridge);
        assert_eq!(bridge.line()["event"], "connected");

        let (client, connection) = Client::new(MqttOptions::new("test", "127.0.0.1", 1883), 100);
        let messages = messages(connection);
        client.subscribe("#", QoS::AtLeastOnce).unwrap();
        let light = "echonet/FE00000B6C696768740000000000000001/029101";
        await_message(&messages, "state", |topic, _| topic == format!("{light}/B0"));
        // All is retained: it comes again, whenever one listens.
        client.unsubscribe("#").unwrap();
        client.subscribe("homeassistant/#", QoS::AtLeastOnce).unwrap();
        let mut command = String::new();
        await_message(&messages, "discovery of the switch", |topic, payload| {
            let is_it = topic.starts_with("homeassistant/switch/") && payload.contains(light);
            if is_it {
                let config: Value = serde_json::from_str(payload).unwrap();
                command = config["command_topic"].as_str().unwrap().to_owned();
                assert_eq!(config["availability"][0]["topic"], "echonet/bridge/state");
            }
            is_it
        });
        assert_eq!(command, format!("{light}/80/set"));
        client.subscribe("echonet/#", QoS::AtLeastOnce).unwrap();
        let mut on = String::new();
        await_message(&messages, "state on", |topic, payload| {
            on = payload.to_owned();
            topic == format!("{light}/80")
        });
        client.publish(command, QoS::AtLeastOnce, false, "31").unwrap();
        let written = home.line();
        assert_eq!((&written["node"], &written["bytes"]), (&"127.1.0.2".into(), &"31".into()));
        await_message(&messages, "state off", |topic, payload| {
            topic == format!("{light}/80") && payload != on
        });

        // Nobody answers for the nodes any more.
        home.interrupt();
        await_message(&messages, "absence", |topic, payload| {
            topic.ends_with("0001/availability") && payload == "offline"
        });
        // Away and back: all is told anew.
        let _ = broker.0.kill();
        let _ = broker.0.wait();
        drop(broker);
        let _broker = Broker::start(&folder).unwrap();
        assert_eq!(bridge.line()["event"], "connected");
        client.subscribe("echonet/#", QoS::AtLeastOnce).unwrap();
        await_message(&messages, "state of the bridge", |topic, payload| {
            topic == "echonet/bridge/state" && payload == "online"
        });
        assert_eq!(bridge.interrupt(), Some(0));
        await_message(&messages, "farewell", |topic, payload| {
            topic == "echonet/bridge/state" && payload == "offline"
        });
    });
}
