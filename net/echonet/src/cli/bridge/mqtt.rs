//! Connection to the broker: one thread, and a queue in each direction.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use netdyno_echonet::Waker;
use rumqttc::{
    Client, ConnectReturnCode, Connection, ConnectionError, Event, LastWill, MqttOptions, Outgoing, Packet,
    PublishOptions, QoS, Transport,
};

use super::tls::{self, Tls};
use crate::cli::Failure;
use crate::cli::secret::Secret;

/// Messages queued for the broker; all states are published again after a reconnection.
const OUTBOX: usize = 65_536;
/// Messages from the broker that are queued for the bridge.
const INBOX: usize = 4096;
/// Pause between two connection attempts.
const RETRY: Duration = Duration::from_secs(2);
/// Seconds between two signs of life on an idle connection.
const KEEP_ALIVE_S: u16 = 15;
/// Time limit for the last messages before the exit.
const FAREWELL: Duration = Duration::from_secs(3);

/// An event from the broker.
#[derive(Debug)]
pub(super) enum FromBroker {
    Connected,
    /// The connection was lost or could not be established, with the reason.
    Away(String),
    Message {
        topic: String,
        payload: Vec<u8>,
    },
}

/// The address of the broker, and the credentials.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    login: Option<(String, Secret)>,
    tls: bool,
}

impl Address {
    /// `mqtt://[USER[:PASSWORD]@]HOST[:PORT]`, or `mqtts://` with TLS.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::new(format!(
                "--mqtt: {why}: expected mqtt://[USER[:PASSWORD]@]HOST[:PORT], such as mqtt://localhost, or mqtts:// for TLS"
            ))
        };
        let (tls, rest) = match url.split_once("://") {
            Some(("mqtt" | "tcp", rest)) => (false, rest),
            Some(("mqtts" | "ssl", rest)) => (true, rest),
            _ => return Err(wrong("no such URL")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, place) =
            rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let login = login.map(|login| {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            let secret = if password.is_empty() {
                std::env::var("MQTT_PASSWORD").unwrap_or_default()
            } else {
                password.to_owned()
            };
            (user.to_owned(), Secret::from(secret))
        });
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) => {
                (host, port.parse().map_err(|_| wrong("the port is not a number"))?)
            }
            _ => (place, if tls { 8883 } else { 1883 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains('/') {
            return Err(wrong("no host"));
        }
        Ok(Self { host: host.to_owned(), port, login, tls })
    }
}

/// A connection that is re-established when it is lost.
pub(super) struct Broker {
    client: Client,
    inbox: Receiver<FromBroker>,
    is_connected: bool,
    thread: Option<JoinHandle<()>>,
    /// Messages dropped because the queue was full.
    pub(super) dropped: u64,
}

impl Broker {
    /// Starts connecting. `will` is published, retained, under this topic when the connection is lost.
    pub(super) fn connect(
        address: &Address,
        tls: Tls<'_>,
        will: (&str, &str),
        waker: Waker,
    ) -> Result<Self, Failure> {
        if let Some(option) = tls.option().filter(|_| !address.tls) {
            let text = format!("{option}: this option requires TLS: use mqtts:// in --mqtt, or omit it");
            return Err(Failure::new(text));
        }
        let id = format!("netdyno-echonet-{}", std::process::id());
        let mut options = MqttOptions::new(id, (&*address.host, address.port));
        options.set_keep_alive(KEEP_ALIVE_S);
        options.set_last_will(LastWill::new(will.0, will.1, QoS::AtLeastOnce, true));
        if let Some((user, password)) = &address.login {
            options.set_credentials(user, password.to_string());
        }
        if address.tls {
            options.set_transport(Transport::tls_with_config(tls.config()?.into()));
        }
        let (client, connection) = Client::builder(options).capacity(OUTBOX).build();
        let (tell, inbox) = sync_channel(INBOX);
        let thread = std::thread::Builder::new()
            .name("mqtt".to_owned())
            .spawn(move || listen(connection, &tell, &waker))?;
        Ok(Self { client, inbox, is_connected: false, thread: Some(thread), dropped: 0 })
    }

    /// The next event, if any.
    pub(super) fn next(&mut self) -> Option<FromBroker> {
        let message = self.inbox.try_recv().ok()?;
        match message {
            FromBroker::Connected => self.is_connected = true,
            FromBroker::Away(_) => self.is_connected = false,
            FromBroker::Message { .. } => {}
        }
        Some(message)
    }

    /// Queues a retained message. Never blocks.
    pub(super) fn publish(&mut self, topic: &str, payload: &str) {
        if self
            .client
            .try_publish(topic, payload.as_bytes(), PublishOptions::at_least_once().retained())
            .is_err()
        {
            self.dropped += 1;
        }
    }

    pub(super) fn subscribe(&mut self, topic: &str) {
        if self.client.try_subscribe(topic, QoS::AtLeastOnce).is_err() {
            self.dropped += 1;
        }
    }

    /// Sends queued messages if connected, then disconnects.
    pub(super) fn close(mut self) {
        let _ = self.client.try_disconnect();
        let until = std::time::Instant::now() + FAREWELL;
        let Some(thread) = self.thread.take() else { return };
        while self.is_connected && !thread.is_finished() && std::time::Instant::now() < until {
            while self.next().is_some() {}
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn listen(mut connection: Connection, tell: &SyncSender<FromBroker>, waker: &Waker) {
    let mut was_connected = false;
    for event in connection.iter() {
        let (message, pause) = match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                was_connected = true;
                (FromBroker::Connected, false)
            }
            Ok(Event::Incoming(Packet::Publish(publish))) => {
                let topic = String::from_utf8_lossy(&publish.topic).into_owned();
                (FromBroker::Message { topic, payload: publish.payload.to_vec() }, false)
            }
            Ok(Event::Outgoing(Outgoing::Disconnect)) => return,
            Ok(_) => continue,
            Err(error) => (FromBroker::Away(explain(&error, std::mem::take(&mut was_connected))), true),
        };
        if tell.send(message).is_err() {
            return;
        }
        waker.wake();
        if pause {
            std::thread::sleep(RETRY);
        }
    }
}

/// Describes why there is no connection, and the remedy.
fn explain(error: &ConnectionError, was_connected: bool) -> String {
    if let Some((why, remedy)) = tls::remedy(error) {
        return format!("{why}: {remedy}");
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error {
        ConnectionError::ConnectionRefused(
            ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized,
        ) => "it rejects the login: write USER:PASSWORD@ in --mqtt, or set MQTT_PASSWORD".to_owned(),
        ConnectionError::Tls(_) => format!("{cause}: does that port use TLS? mqtt:// connects without it"),
        ConnectionError::MqttState(_) if !was_connected => {
            format!("{cause}: does that port require TLS? mqtts:// connects with it")
        }
        _ => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_a_refused_login() {
        let refused = ConnectionError::ConnectionRefused(ConnectReturnCode::NotAuthorized);
        assert!(explain(&refused, false).contains("USER:PASSWORD@"));
    }

    #[test]
    fn urls() {
        for (url, host, port, login, tls) in [
            ("mqtt://localhost", "localhost", 1883, None, false),
            ("mqtt://10.0.0.1:1884/", "10.0.0.1", 1884, None, false),
            ("tcp://me:a:b@broker", "broker", 1883, Some(("me", "a:b")), false),
            ("mqtt://[::1]:99", "::1", 99, None, false),
            ("mqtt://[::1]", "::1", 1883, None, false),
            ("mqtts://broker", "broker", 8883, None, true),
            ("ssl://broker:1", "broker", 1, None, true),
        ] {
            let login = login
                .map(|(user, password): (&str, &str)| (user.to_owned(), Secret::from(password.to_owned())));
            let expected = Address { host: host.to_owned(), port, login, tls };
            let address = Address::parse(url).unwrap();
            assert_eq!(address, expected, "{url}");
            assert!(!format!("{address:?}").contains("a:b"), "{url}");
        }
        for wrong in ["localhost", "http://x", "mqtts://", "mqtt://", "mqtt://x:y", "mqtt://a/b"] {
            let message = Address::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("mqtt://localhost"), "{wrong}: {message}");
        }
    }
}
