//! Echoes every message. `cargo run --release --example echo`, then open the page at the printed address.
#![allow(missing_docs, unreachable_pub)]

#[path = "support/http.rs"]
mod http;
#[path = "support/server.rs"]
mod server;

use std::collections::{HashMap, VecDeque};

use netdyno_rtc::{
    ChannelId, Connection, ConnectionId, Error, Event, Handler, Message, PeerState, SendError,
};

const HELP: &str = "Echo: sends every message of every data channel back.

usage: echo [--http ADDRESS] [--udp ADDRESS]

  --http ADDRESS  address of the page [127.0.0.1:8080]
  --udp ADDRESS   address of all data channels [127.0.0.1:0];
                  use 0.0.0.0:0 for other machines and for Firefox
  --help          print this help";

fn main() -> Result<(), Error> {
    let options = server::Options::read(HELP);
    server::run(&options, include_str!("pages/echo.html"), &mut Echo::default())
}

#[derive(Default)]
struct Echo {
    /// Unsent echoes by connection. While there are any, the connection is not read: that is all that
    /// backpressure needs.
    waiting: HashMap<ConnectionId, VecDeque<Message>>,
}

impl Handler for Echo {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        match event {
            Event::Incoming(channel) => println!("{}: open", name(connection, channel)),
            Event::ChannelClosed(channel) => println!("{}: closed", name(connection, channel)),
            Event::Writable => self.resume(connection),
            Event::Failed(error) => println!("connection {}: {error}", connection.id()),
            Event::State(PeerState::Closed | PeerState::Failed) => {
                self.waiting.remove(&connection.id());
                // No ICE restart: a page that returns creates a new connection.
                connection.close();
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let sent = connection.send(message.channel, message.kind, &message.data);
        if sent == Err(SendError::WouldBlock) {
            connection.set_reading(false);
            self.waiting.entry(connection.id()).or_default().push_back(message);
        }
    }
}

impl Echo {
    fn resume(&mut self, connection: &mut Connection<'_>) {
        let Some(waiting) = self.waiting.get_mut(&connection.id()) else { return };
        while let Some(message) = waiting.front() {
            if connection.send(message.channel, message.kind, &message.data) == Err(SendError::WouldBlock) {
                return;
            }
            waiting.pop_front();
        }
        self.waiting.remove(&connection.id());
        connection.set_reading(true);
    }
}

fn name(connection: &Connection<'_>, channel: ChannelId) -> String {
    format!("connection {}, channel {:?}", connection.id(), connection.label(channel))
}
