//! A chat room: every browser tab has a data channel to this server, which forwards each message to all tabs.
//! `cargo run --release --example chat`, then open the page at the printed address in several tabs.
#![allow(missing_docs, unreachable_pub)]

#[path = "support/http.rs"]
mod http;
#[path = "support/server.rs"]
mod server;

use std::collections::BTreeMap;

use netdyno_rtc::{ChannelId, Connection, ConnectionId, Error, Event, Handler, Kind, Message, PeerState};
use serde_json::{Value, json};

const HELP: &str = "Chat: a chat room for browser tabs.

usage: chat [--http ADDRESS] [--udp ADDRESS]

  --http ADDRESS  address of the page [127.0.0.1:8080]
  --udp ADDRESS   address of all data channels [127.0.0.1:0];
                  use 0.0.0.0:0 for other machines and for Firefox
  --help          print this help";

/// Maximum characters of a name and of a message.
const MAX_NAME_CHARS: usize = 32;
const MAX_TEXT_CHARS: usize = 2000;

fn main() -> Result<(), Error> {
    let options = server::Options::read(HELP);
    server::run(&options, include_str!("pages/chat.html"), &mut Room::default())
}

/// The guests in the room.
#[derive(Default)]
struct Room {
    guests: BTreeMap<ConnectionId, Guest>,
}

struct Guest {
    channel: ChannelId,
    /// `None` until the guest has sent a name.
    name: Option<String>,
}

impl Handler for Room {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let id = connection.id();
        match event {
            Event::Incoming(channel) if connection.label(channel) == "chat" => {
                self.guests.entry(id).or_insert(Guest { channel, name: None });
            }
            Event::Incoming(channel) => connection.close_channel(channel),
            Event::ChannelClosed(channel)
                if self.guests.get(&id).is_some_and(|guest| guest.channel == channel) =>
            {
                self.leave(connection);
            }
            Event::State(PeerState::Closed | PeerState::Failed) => {
                self.leave(connection);
                // No ICE restart: a page that returns creates a new connection.
                connection.close();
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let Some(guest) = self.guests.get_mut(&connection.id()) else { return };
        // Unknown messages are ignored.
        let Ok(Value::Object(said)) = serde_json::from_slice(&message.data) else { return };
        if let Some(name) = said.get("name").and_then(Value::as_str)
            && guest.name.is_none()
        {
            let name = cut(name, MAX_NAME_CHARS);
            guest.name = Some(if name.is_empty() { "anonymous".to_owned() } else { name });
            self.announce_guests(connection);
        } else if let (Some(text), Some(name)) = (said.get("text").and_then(Value::as_str), &guest.name) {
            let line = json!({"from": name, "text": cut(text, MAX_TEXT_CHARS)});
            self.broadcast(connection, &line);
        }
    }
}

impl Room {
    fn leave(&mut self, connection: &mut Connection<'_>) {
        if self.guests.remove(&connection.id()).is_some_and(|guest| guest.name.is_some()) {
            self.announce_guests(connection);
        }
    }

    fn announce_guests(&self, connection: &mut Connection<'_>) {
        let names: Vec<_> = self.guests.values().filter_map(|guest| guest.name.as_ref()).collect();
        println!("guests: {}", names.len());
        self.broadcast(connection, &json!({"here": names}));
    }

    /// Guests whose send buffer is full miss the message.
    fn broadcast(&self, connection: &mut Connection<'_>, line: &Value) {
        let line = line.to_string();
        for (&id, guest) in self.guests.iter().filter(|(_, guest)| guest.name.is_some()) {
            if let Some(mut other) = connection.other(id) {
                let _ = other.send(guest.channel, Kind::Text, line.as_bytes());
            }
        }
    }
}

fn cut(text: &str, chars: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(chars).collect()
}
