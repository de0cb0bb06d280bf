//! The tool with an MQTT broker.

#![allow(clippy::unwrap_used, missing_docs)]

mod support;
mod tool;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rumqttc::{Client, Connection, Event, MqttOptions, Packet, PublishOptions, QoS};
use serde_json::Value;
use support::{alone, skip};
use tool::Running;

/// A broker, stopped when dropped.
struct Broker(Child);

impl Broker {
    fn start(folder: &tempfile::TempDir) -> Option<Self> {
        Self::start_with(folder.path(), "")
    }

    /// With further lines of configuration.
    fn start_with(folder: &Path, settings: &str) -> Option<Self> {
        let path = folder.join("mosquitto.conf");
        let plain = "user root\nallow_anonymous true\nlistener 1883 127.0.0.1\n";
        std::fs::write(&path, format!("{plain}{settings}")).unwrap();
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

/// A client's messages. Its connection is polled in a thread, so that its own messages are sent.
fn messages(mut connection: Connection) -> Receiver<(String, String)> {
    let (tell, messages) = channel();
    std::thread::spawn(move || {
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::Publish(message))) => {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let (topic, payload) = (text(&message.topic), text(&message.payload));
                    if tell.send((topic, payload)).is_err() {
                        return;
                    }
                }
                // The broker has not started yet.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
                Ok(_) => {}
            }
        }
    });
    messages
}

/// Receives messages until one matches.
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
        let of_broker = ["bridge", "--mqtt", "mqtt://127.0.0.1", "--poll", "1"];
        // The last will is published sooner with a short keep-alive.
        let bridge =
            [&["-i", "lo", "--address", "127.0.0.1", "--timeout", "1", "--json"][..], &of_broker].concat();
        let mut bridge = Running::start(&bridge);
        assert_eq!(bridge.line()["event"], "connected");

        let (client, connection) = Client::builder(MqttOptions::new("test", "127.0.0.1")).build();
        let messages = messages(connection);
        client.subscribe("#", QoS::AtLeastOnce).unwrap();
        let light = "echonet/FE00000B6C696768740000000000000001/029101";
        await_message(&messages, "state", |topic, _| topic == format!("{light}/B0"));
        // Messages are retained: each new subscription receives them.
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
        client.publish(command, "31".to_owned(), PublishOptions::at_least_once()).unwrap();
        let written = home.line();
        assert_eq!((&written["node"], &written["bytes"]), (&"127.1.0.2".into(), &"31".into()));
        await_message(&messages, "state off", |topic, payload| {
            topic == format!("{light}/80") && payload != on
        });

        // The nodes have stopped.
        home.interrupt();
        await_message(&messages, "absence", |topic, payload| {
            topic.ends_with("0001/availability") && payload == "offline"
        });
        // After a restart of the broker, everything is published again.
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

/// Two authorities and certificates that they signed, as files: `good` and `expired`, and `strange` of the
/// other authority.
fn make_certificates(folder: &Path) {
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    for name in ["authority", "stranger"] {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        write(&format!("{name}.key"), key.serialize_pem());
        let authority = CertifiedIssuer::self_signed(params, key).unwrap();
        write(&format!("{name}.crt"), authority.pem());
        let of_authority: &[_] = match name {
            "authority" => &[("good", 2100), ("expired", 2001)],
            _ => &[("strange", 2100)],
        };
        for &(name, until) in of_authority {
            let mut params =
                CertificateParams::new(vec!["127.0.0.1".to_owned(), "broker.home".to_owned()]).unwrap();
            (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(until, 1, 1));
            let key = KeyPair::generate().unwrap();
            write(&format!("{name}.key"), key.serialize_pem());
            write(&format!("{name}.crt"), params.signed_by(&key, &authority).unwrap().pem());
        }
    }
}

#[test]
fn bridges_to_a_broker_over_tls() {
    alone("bridges_to_a_broker_over_tls", || {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        make_certificates(folder.path());
        std::fs::write(file("empty.crt"), "").unwrap();
        let listeners: Vec<_> = [(8883, "good"), (8884, "expired"), (8885, "authority")]
            .iter()
            .map(|(port, name)| {
                let (certificate, key) = (file(&format!("{name}.crt")), file(&format!("{name}.key")));
                format!("listener {port} 127.0.0.1\ncertfile {certificate}\nkeyfile {key}\n")
            })
            .collect();
        // The last listener requires client certificates.
        let asks = format!(
            "listener 8886 127.0.0.1\ncertfile {0}\nkeyfile {1}\ncafile {2}\nrequire_certificate true\n",
            file("good.crt"),
            file("good.key"),
            file("authority.crt")
        );
        let Some(_broker) = Broker::start_with(folder.path(), &(listeners.concat() + &asks)) else {
            return skip("mosquitto (Debian: apt-get install mosquitto)");
        };
        let bridge = |url: &str, ca: Option<&str>, of_system: &str| {
            let mut command = Command::new(tool::TOOL);
            command.args(["-i", "lo", "--address", "127.0.0.1", "--json", "bridge", "--mqtt", url]);
            if let Some(ca) = ca {
                command.args(["--mqtt-ca", &file(ca)]);
            }
            // A substitute for the system's trusted authorities.
            command.env("SSL_CERT_FILE", file(of_system)).env_remove("SSL_CERT_DIR").stderr(Stdio::piped());
            Running::spawn(&mut command)
        };
        for (ca, of_system) in [(Some("authority.crt"), "empty.crt"), (None, "authority.crt")] {
            let mut good = bridge("mqtts://127.0.0.1", ca, of_system);
            assert_eq!(good.line()["event"], "connected", "{ca:?}");
            assert_eq!(good.interrupt(), Some(0));
        }
        let of_own = |certificate: &str, key: &str| {
            let mut command = Command::new(tool::TOOL);
            command.args([
                "-i",
                "lo",
                "--address",
                "127.0.0.1",
                "--json",
                "bridge",
                "--mqtt-ca",
                &file("authority.crt"),
            ]);
            command.args(["--mqtt", "mqtts://127.0.0.1:8886"]).stderr(Stdio::piped());
            if !certificate.is_empty() {
                command.args(["--mqtt-cert", &file(certificate), "--mqtt-key", &file(key)]);
            }
            Running::spawn(&mut command)
        };
        let mut good = of_own("good.crt", "good.key");
        assert_eq!(good.line()["event"], "connected", "with a certificate of its own");
        assert_eq!(good.interrupt(), Some(0));
        for (certificate, key, parts) in [
            ("", "", ["CertificateRequired", "trusts with --mqtt-cert FILE --mqtt-key FILE"]),
            ("strange.crt", "strange.key", ["UnknownCA", "that it trusts"]),
            ("good.crt", "strange.key", ["--mqtt-key", "it is not the key of --mqtt-cert"]),
            ("good.crt", "good.crt", ["--mqtt-key", "expected a PEM file"]),
            ("empty.crt", "good.key", ["--mqtt-cert", "it contains no certificate"]),
            ("good.crt", "nothing.key", ["--mqtt-key", "No such file"]),
        ] {
            let message = of_own(certificate, key).remark();
            assert!(parts.iter().all(|part| message.contains(part)), "{certificate} {key}: {message}");
        }
        let authority = Some("authority.crt");
        for (url, ca, parts) in [
            ("mqtts://127.0.0.1", Some("stranger.crt"), ["UnknownIssuer", "--mqtt-ca FILE"]),
            ("mqtts://127.0.0.1", None, ["UnknownIssuer", "--mqtt-ca FILE"]),
            ("mqtts://localhost", authority, ["broker.home", "host name of the broker's certificate"]),
            ("mqtts://127.0.0.1:8884", authority, ["expired", "renew the broker's certificate"]),
            ("mqtts://127.0.0.1:8885", authority, ["CaUsedAsEndEntity", "sign one for the broker"]),
            ("mqtts://127.0.0.1:1883", authority, ["does that port use TLS?", "mqtt:// connects without it"]),
            ("mqtt://127.0.0.1:8883", None, ["does that port require TLS?", "mqtts:// connects with it"]),
            ("mqtts://127.0.0.1", Some("nothing.crt"), ["No such file", "expected a PEM file"]),
            ("mqtts://127.0.0.1", Some("empty.crt"), ["it contains no certificate", "expected a PEM file"]),
            ("mqtt://127.0.0.1", authority, ["requires TLS", "mqtts://"]),
        ] {
            let message = bridge(url, ca, "stranger.crt").remark();
            assert!(parts.iter().all(|part| message.contains(part)), "{url} {ca:?}: {message}");
        }
        let message = bridge("mqtts://127.0.0.1", None, "empty.crt").remark();
        assert!(
            message.contains("no trusted certificate authorities") && message.contains("ca-certificates"),
            "{message}"
        );
    });
}
