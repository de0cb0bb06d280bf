//! Broadcast from publishers to watchers: one endpoint and one handler for all peers. Signalling uses HTTP,
//! as in WHIP (RFC 9725) and WHEP: an offer is POSTed, the response contains the answer, and a DELETE of its
//! Location ends the connection. `cargo run --release --example broadcast -- --help`.
#![allow(missing_docs, unreachable_pub)]

#[path = "support/http.rs"]
mod http;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::Duration;

use http::{Request, Response};
use netdyno_rtc::{
    ChannelId, ChannelOptions, Connection, ConnectionId, Endpoint, Event, Handler, Message, PeerState,
    Settings, Waker, blocking,
};

const HELP: &str = "Broadcast: send every message of a publisher to all watchers.

usage: broadcast serve ADDRESS    serve POST /whip (publish) and POST /whep (watch)
       broadcast publish ADDRESS  send the lines of stdin
       broadcast watch ADDRESS    print received messages

example: broadcast serve 127.0.0.1:8080";

/// How long an HTTP request waits for the endpoint, and a client for its connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limit of requests waiting for the endpoint.
const WAITING_MAX: usize = 64;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address] => {
            let listener = TcpListener::bind(address)?;
            println!("POST offers to http://{0}/whip or http://{0}/whep", listener.local_addr()?);
            let ip = listener.local_addr()?.ip();
            serve(listener, Endpoint::bind((ip, 0).into(), Settings::new()?)?)
        }
        ["publish", address] => {
            let client = Client::connect(address.parse()?, "/whip")?;
            for line in std::io::stdin().lines() {
                client.channel.send_text(&line?)?;
            }
            // Everything sent has been delivered when `wait_closed` returns.
            client.channel.close();
            Ok(client.channel.wait_closed()?)
        }
        ["watch", address] => {
            let client = Client::connect(address.parse()?, "/whep")?;
            loop {
                println!("{}", client.channel.recv()?.text().unwrap_or("(bytes)"));
            }
        }
        _ => {
            println!("{HELP}");
            Ok(())
        }
    }
}

/// A request from the HTTP thread to the endpoint's thread, with the channel for the reply.
enum Command {
    Begin { watches: bool, offer: String, reply: SyncSender<Result<(u64, String), String>> },
    End { session: u64, reply: SyncSender<bool> },
}

/// Serves HTTP and the endpoint until the system fails.
fn serve(listener: TcpListener, mut endpoint: Endpoint) -> Outcome<()> {
    let (commands, inbox) = mpsc::sync_channel(WAITING_MAX);
    let waker = endpoint.waker();
    thread::spawn(move || http::serve(&listener, |request| respond(request, &commands, &waker)));
    let mut all = Broadcast::default();
    loop {
        endpoint.poll(None, &mut all)?;
        for command in inbox.try_iter() {
            // The requester may be gone.
            match command {
                Command::Begin { watches, offer, reply } => {
                    let begun = endpoint.answer(&offer).map_err(|error| error.to_string());
                    let _ =
                        reply.send(begun.map(|(id, answer)| (all.begin(&mut endpoint, id, watches), answer)));
                }
                Command::End { session, reply } => {
                    let connection = all.sessions.get(&session).and_then(|&id| endpoint.connection(id));
                    let _ = reply.send(connection.map(|mut connection| connection.close()).is_some());
                }
            }
        }
    }
}

fn respond(request: Request, commands: &SyncSender<Command>, waker: &Waker) -> Response {
    let busy = || Response::new("503 Service Unavailable", "text/plain", "server busy\n");
    let (method, path) = (request.method.as_str(), request.path.as_str());
    match (method, path, path.strip_prefix("/session/").map(str::parse)) {
        ("POST", "/whip" | "/whep", _) => {
            let (reply, begun) = mpsc::sync_channel(1);
            let command = Command::Begin { watches: path == "/whep", offer: request.body, reply };
            if commands.try_send(command).is_err() {
                return busy();
            }
            waker.wake();
            match begun.recv_timeout(PATIENCE) {
                Ok(Ok((session, answer))) => Response {
                    location: Some(format!("/session/{session}")),
                    ..Response::new("201 Created", "application/sdp", answer)
                },
                Ok(Err(reason)) => Response::new("400 Bad Request", "text/plain", reason),
                Err(_) => busy(),
            }
        }
        ("DELETE", _, Some(Ok(session))) => {
            let (reply, ended) = mpsc::sync_channel(1);
            if commands.try_send(Command::End { session, reply }).is_err() {
                return busy();
            }
            waker.wake();
            match ended.recv_timeout(PATIENCE) {
                Ok(true) => Response::new("200 OK", "text/plain", ""),
                Ok(false) => Response::not_found(),
                Err(_) => busy(),
            }
        }
        _ => Response::not_found(),
    }
}

/// Publishers and watchers.
#[derive(Default)]
struct Broadcast {
    /// By an unguessable number, which authorises a client to end the connection.
    sessions: BTreeMap<u64, ConnectionId>,
    /// Each watcher with the channel that it has opened.
    watchers: BTreeMap<ConnectionId, Option<ChannelId>>,
}

impl Broadcast {
    fn begin(&mut self, endpoint: &mut Endpoint, id: ConnectionId, watches: bool) -> u64 {
        let session = endpoint.connection(id).map_or(0, |connection| connection.session_id());
        self.sessions.insert(session, id);
        if watches {
            self.watchers.insert(id, None);
        }
        session
    }
}

impl Handler for Broadcast {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let id = connection.id();
        match event {
            Event::Incoming(channel) => {
                if let Some(watcher) = self.watchers.get_mut(&id) {
                    watcher.get_or_insert(channel);
                }
            }
            Event::State(PeerState::Closed | PeerState::Failed) => {
                self.sessions.remove(&connection.session_id());
                self.watchers.remove(&id);
                // No ICE restart.
                connection.close();
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        if self.watchers.contains_key(&connection.id()) {
            return;
        }
        for (&id, channel) in &self.watchers {
            if let (Some(mut watcher), &Some(channel)) = (connection.other(id), channel) {
                // A watcher whose send buffer is full misses the message; the others do not wait.
                let _ = watcher.send(channel, message.kind, &message.data);
            }
        }
    }
}

/// A publisher or a watcher.
struct Client {
    channel: blocking::DataChannel,
    server: SocketAddr,
    session: String,
    _peer: blocking::PeerConnection,
}

impl Client {
    fn connect(server: SocketAddr, path: &str) -> Outcome<Self> {
        let everywhere: SocketAddr =
            if server.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        let ip = if server.ip().is_loopback() { (server.ip(), 0).into() } else { everywhere };
        let endpoint = blocking::Endpoint::bind(ip, Settings::new()?)?;
        let peer = blocking::PeerConnection::new(&endpoint)?;
        let channel = peer.create_channel("broadcast", ChannelOptions::default())?;
        let (session, answer) = request(server, "POST", path, &peer.create_offer()?)?;
        peer.accept_answer(&answer)?;
        if !peer.wait_connected_timeout(PATIENCE)? {
            return Err("no connection within 10 s".into());
        }
        Ok(Self { channel, server, session, _peer: peer })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The server may be gone.
        let _ = request(self.server, "DELETE", &self.session, "");
    }
}

/// Returns the Location and the body of the response.
fn request(server: SocketAddr, method: &str, path: &str, body: &str) -> Outcome<(String, String)> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/sdp\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("the response is not HTTP")?;
    if !head.starts_with("HTTP/1.1 20") {
        return Err(format!("{method} {path}: {} {body}", head.lines().next().unwrap_or_default()).into());
    }
    let location = head.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap_or_default();
    Ok((location.to_owned(), body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_watch_one_publisher() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), Settings::new().unwrap()).unwrap();
        thread::spawn(move || serve(listener, endpoint).map_err(|error| error.to_string()));

        let publisher = Client::connect(server, "/whip").unwrap();
        let watchers: Vec<_> = (0..20).map(|_| Client::connect(server, "/whep").unwrap()).collect();
        // A watcher receives messages published after the server has learned of its channel.
        let is_there =
            |watcher: &Client| watcher.channel.recv_timeout(Duration::from_millis(20)).unwrap().is_some();
        for watcher in &watchers {
            while !is_there(watcher) {
                publisher.channel.send_text("is anybody there?").unwrap();
            }
        }
        let lines: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
        for line in &lines {
            publisher.channel.send_text(line).unwrap();
        }
        for watcher in &watchers {
            let mut heard = Vec::new();
            while heard.last() != lines.last() {
                let message = watcher.channel.recv_timeout(PATIENCE).unwrap().unwrap();
                heard.extend(message.text().filter(|text| text.starts_with("line")).map(str::to_owned));
            }
            assert_eq!(heard, lines);
        }

        // A DELETE ends a session, once. Invalid offers and other paths are refused.
        request(server, "DELETE", &watchers[0].session, "").unwrap();
        watchers[0].channel.wait_closed().unwrap_err();
        for (method, path, body, expected) in
            [("POST", "/whip", "v=1", "400"), ("DELETE", "/session/1", "", "404"), ("GET", "/", "", "404")]
        {
            let error = request(server, method, path, body).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
