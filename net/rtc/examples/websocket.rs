//! Signalling over a plain WebSocket with JSON messages `{"offer": SDP}`, `{"answer": SDP}` and
//! `{"candidate": LINE}`, which a web page can handle in a few lines. The server echoes data channels. `cargo
//! run --release --features tokio --example websocket -- --help`.
#![allow(missing_docs)]

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use netdyno_rtc::tokio::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, PeerState, RecvError, Settings};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{accept_async_with_config, client_async_with_config};

const HELP: &str = "WebSocket: signalling over a WebSocket, then an echo over a data channel.

usage: websocket serve ADDRESS           accept offers, and echo all messages
       websocket connect ADDRESS TEXT..  send each text, and print the echo

example: websocket serve 127.0.0.1:9000";

/// Limit of a signalling message in bytes.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// How long a set-up may take.
const PATIENCE: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;
type WebSocket = tokio_tungstenite::WebSocketStream<TcpStream>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [verb, address] if verb == "serve" => {
            let listener = TcpListener::bind(address).await?;
            println!("WebSocket at ws://{}", listener.local_addr()?);
            serve(listener).await
        }
        [verb, address, texts @ ..] if verb == "connect" => {
            for echo in connect(address.parse()?, texts).await? {
                println!("{echo}");
            }
            Ok(())
        }
        _ => {
            println!("{HELP}");
            Ok(())
        }
    }
}

/// Serves until the system fails, with one endpoint and a task for each WebSocket.
async fn serve(listener: TcpListener) -> Result<(), Failure> {
    let endpoint = Endpoint::bind((listener.local_addr()?.ip(), 0).into(), Settings::new()?)?;
    loop {
        let (stream, from) = listener.accept().await?;
        let peer = PeerConnection::new(&endpoint)?;
        tokio::spawn(async move {
            if let Err(error) = signal(stream, &peer).await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

/// Handles offers and candidates until the WebSocket and the connection have ended; each may outlive the
/// other.
async fn signal(stream: TcpStream, peer: &PeerConnection) -> Result<(), Failure> {
    let mut socket = timeout(PATIENCE, accept_async_with_config(stream, Some(limits()))).await??;
    let echoing = tokio::spawn(echo(peer.clone()));
    while let Some(message) = next(&mut socket).await? {
        if let Some(offer) = message["offer"].as_str() {
            say(&mut socket, &json!({"answer": peer.accept_offer(offer)?})).await?;
        } else if let Some(candidate) = message["candidate"].as_str() {
            peer.add_remote_candidate(candidate)?;
        }
    }
    if peer.state() == PeerState::New {
        // No offer can arrive any more.
        peer.close();
    }
    Ok(echoing.await?)
}

/// Echoes all channels of a connection until it is over.
async fn echo(peer: PeerConnection) {
    async fn echo_channel(channel: DataChannel) -> Result<(), Failure> {
        loop {
            let message = channel.recv().await?;
            channel.send_many(message.kind, &[message.data]).await?;
        }
    }
    while let Ok(channel) = peer.accept_channel().await {
        tokio::spawn(async move {
            // It returns an error when the channel ends.
            let _ = echo_channel(channel).await;
        });
    }
}

/// Connects through the WebSocket at `server`; returns the echo of each text.
async fn connect(server: SocketAddr, texts: &[String]) -> Result<Vec<String>, Failure> {
    let stream = TcpStream::connect(server).await?;
    let local = stream.local_addr()?.ip();
    let url = format!("ws://{server}/");
    let (mut socket, _) = client_async_with_config(url, stream, Some(limits())).await?;

    let endpoint = Endpoint::bind((local, 0).into(), Settings::new()?)?;
    let peer = PeerConnection::new(&endpoint)?;
    let channel = peer.create_channel("echo", ChannelOptions::default())?;
    say(&mut socket, &json!({"offer": peer.create_offer()?})).await?;
    loop {
        let message =
            timeout(PATIENCE, next(&mut socket)).await??.ok_or("the server closed the WebSocket")?;
        if let Some(answer) = message["answer"].as_str() {
            peer.accept_answer(answer)?;
            break;
        }
    }
    timeout(PATIENCE, peer.wait_connected()).await??;
    // Connected: signalling is complete.
    socket.close(None).await?;

    let mut echoes = Vec::new();
    for text in texts {
        channel.send_text(text).await?;
        let message = channel.recv().await.map_err(|error: RecvError| format!("{text}: {error}"))?;
        echoes.push(message.text().unwrap_or_default().to_owned());
    }
    peer.close();
    Ok(echoes)
}

/// The next JSON message; `None` at the end.
async fn next(socket: &mut WebSocket) -> Result<Option<Value>, Failure> {
    while let Some(message) = socket.next().await {
        if let Message::Text(text) = message? {
            return Ok(Some(serde_json::from_str(&text)?));
        }
    }
    Ok(None)
}

async fn say(socket: &mut WebSocket, message: &Value) -> Result<(), Failure> {
    Ok(socket.send(Message::text(message.to_string())).await?)
}

fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn several_clients_get_back_what_they_send() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        tokio::spawn(serve(listener));
        let texts: Vec<String> = (0..10).map(|number| format!("text {number}")).collect();
        let clients: Vec<_> = (0..5)
            .map(|_| {
                let texts = texts.clone();
                tokio::spawn(async move { connect(server, &texts).await })
            })
            .collect();
        for client in clients {
            assert_eq!(timeout(PATIENCE, client).await.unwrap().unwrap().unwrap(), texts);
        }
        // An invalid message ends only its WebSocket.
        let stream = TcpStream::connect(server).await.unwrap();
        let (mut socket, _) =
            client_async_with_config(format!("ws://{server}/"), stream, None).await.unwrap();
        socket.send(Message::text("no JSON")).await.unwrap();
        while let Some(Ok(message)) = timeout(PATIENCE, socket.next()).await.unwrap() {
            assert!(message.is_close(), "{message:?}");
        }
        assert_eq!(connect(server, &texts).await.unwrap(), texts);
    }
}
