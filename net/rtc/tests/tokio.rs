//! The Tokio interface over the loopback interface.
#![cfg(feature = "tokio")]
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::time::Duration;

use netdyno_rtc::tokio::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, Error, Kind, Port, RecvError, SendError};
use support::{PATIENCE, settings};
use tokio::time::timeout;

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings()).unwrap()
}

async fn pair(from: &Endpoint, to: &Endpoint) -> (PeerConnection, PeerConnection, DataChannel, DataChannel) {
    let (offerer, answerer) =
        (PeerConnection::on(from, Port::Own).unwrap(), PeerConnection::new(to).unwrap());
    let channel = offerer.create_channel("test", ChannelOptions::default()).unwrap();
    let answer = answerer.accept_offer(&offerer.create_offer().unwrap()).unwrap();
    offerer.accept_answer(&answer).unwrap();
    let other = timeout(PATIENCE, answerer.accept_channel()).await.unwrap().unwrap();
    (offerer, answerer, channel, other)
}

#[tokio::test]
async fn messages_go_there_and_back() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, _answerer, channel, other) = pair(&here, &there).await;
    offerer.wait_connected().await.unwrap();
    channel.send_text("hello").await.unwrap();
    let message = other.recv().await.unwrap();
    assert_eq!((message.kind, &message.data[..]), (Kind::Text, &b"hello"[..]));
    other.send(&message.data).await.unwrap();
    assert_eq!(channel.recv().await.unwrap().data, "hello");
    assert!(timeout(Duration::from_millis(5), channel.recv()).await.is_err());

    let messages: Vec<_> = (0..1000_u32).map(u32::to_be_bytes).collect();
    channel.send_many(Kind::Binary, &messages).await.unwrap();
    let mut received = Vec::new();
    while received.len() < 1000 {
        other.recv_many(&mut received, 300).await.unwrap();
    }
    assert!(received.iter().zip(&messages).all(|(received, sent)| received.data[..] == sent[..]));
    channel.wait_buffered_below(0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_rests_holds_the_sender_back() {
    let (here, there) = (endpoint(), endpoint());
    let (_offerer, answerer, channel, other) = pair(&here, &there).await;
    const MESSAGES: usize = 1500;
    let sender = tokio::spawn(async move {
        for number in 0..MESSAGES {
            channel.send(&vec![number as u8; 60_000]).await.unwrap();
        }
        channel.close();
        channel.wait_closed().await.unwrap();
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!sender.is_finished(), "there is no reader");
    assert!(answerer.stats().unwrap().sctp.held_bytes <= 64 << 20);
    for number in 0..MESSAGES {
        let message = timeout(PATIENCE, other.recv()).await.unwrap().unwrap();
        assert!(message.data.len() == 60_000 && message.data[0] == number as u8);
    }
    assert_eq!(other.recv().await, Err(RecvError::Closed));
    timeout(PATIENCE, sender).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_a_connection_tells_the_peer_and_its_waiters() {
    let (here, there) = (endpoint(), endpoint());
    let (offerer, answerer, channel, other) = pair(&here, &there).await;
    let reader = tokio::spawn(async move { other.recv().await });
    drop((offerer, channel));
    assert_eq!(timeout(PATIENCE, reader).await.unwrap().unwrap(), Err(RecvError::Closed));
    timeout(PATIENCE, answerer.wait_closed()).await.unwrap().unwrap();
    assert!(matches!(answerer.accept_channel().await, Err(Error::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_endpoint_serves_many_tasks() {
    let (here, there) = (endpoint(), endpoint());
    let tasks: Vec<_> = (0..50_u8)
        .map(|number| {
            let (here, there) = (here.clone(), there.clone());
            tokio::spawn(async move {
                let (_offerer, _answerer, channel, other) = pair(&here, &there).await;
                for _ in 0..20 {
                    channel.send(&[number; 100]).await.unwrap();
                    assert_eq!(other.recv().await.unwrap().data[..], [number; 100]);
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(PATIENCE, task).await.unwrap().unwrap();
    }
}

#[test]
fn handles_that_outlive_the_runtime_end() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (here, there, all) = runtime.block_on(async {
        let (here, there) = (endpoint(), endpoint());
        let all = pair(&here, &there).await;
        all.2.wait_open().await.unwrap();
        (here, there, all)
    });
    drop(runtime);
    assert!(all.2.is_closed() && !all.2.is_open());
    assert!(matches!(all.2.try_send(Kind::Binary, b"late"), Err(SendError::Closed)));
    assert!(matches!(PeerConnection::new(&here), Err(Error::Closed)));
    drop((here, there, all));
}

#[test]
fn outside_a_runtime_it_is_an_error() {
    let bound = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings());
    // Where a thread drives the endpoint, no runtime is needed.
    assert!(matches!(bound, Err(Error::NoRuntime)) || cfg!(not(target_os = "linux")), "{bound:?}");
}
