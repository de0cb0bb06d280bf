//! The `datachannel` workload on webrtc-rs 0.21: both roles, with one task per connection and one per channel for its events.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::BytesMut;
use netdyno_contender::datachannel::{Candidate, HELLO, Job, LABEL, Role};
use netdyno_contender::tokio::{Phases, Remote, Remotes, run};
use netdyno_contender::{Lab, Phase, lock_version};
use rtc::ice::mdns::MulticastDnsMode;
use tokio::sync::Notify;
use webrtc::data_channel::{DataChannel, DataChannelEvent, RTCDataChannelInit};
use webrtc::error::Result;
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCIceCandidateInit,
    RTCIceGatheringState, RTCSessionDescription, SettingEngineBuilder,
};

/// Maximum length of a received message: the library's default `a=max-message-size`.
const MAX_MESSAGE_BYTES: usize = 65_536;
#[tokio::main]
async fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let version = lock_version(include_str!("../Cargo.lock"), "webrtc");
    let ready = || lab.ready("webrtc-rs", version, "tokio");
    run(&job, events, ready, |job, i, remotes, phases| async move {
        match job.role {
            Role::Offerer => offer(&job, i, remotes, phases).await,
            Role::Answerer => answer(&job, i, remotes).await,
        }
    })
    .await
}

/// The event handler of a connection.
struct Handler {
    job: Arc<Job>,
    connection: usize,
    gathered: Notify,
}

#[async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            self.gathered.notify_one();
        }
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        // The library's driver awaits this method, so the channel is handled by a separate task.
        tokio::spawn(receive(Arc::clone(&self.job), self.connection, channel));
    }
}

/// The library's defaults, with one address and without mDNS. The limit of the send buffer provides backpressure: `send`
/// waits while that much is unacknowledged.
async fn connect(job: &Arc<Job>, i: usize) -> Result<(Arc<dyn PeerConnection>, Arc<Handler>)> {
    job.created(i);
    let handler = Arc::new(Handler { job: Arc::clone(job), connection: i, gathered: Notify::new() });
    let settings = SettingEngineBuilder::new().with_multicast_dns_mode(MulticastDnsMode::Disabled).build();
    let connection = PeerConnectionBuilder::new()
        .with_setting_engine(settings)
        .with_handler(Arc::clone(&handler) as Arc<dyn PeerConnectionEventHandler>)
        .with_udp_addrs(vec![(job.local, 0)])
        .with_data_channel_send_buffer_limit(job.high_water_bytes)
        .build()
        .await?;
    Ok((Arc::new(connection), handler))
}

async fn offer(job: &Arc<Job>, i: usize, mut remotes: Remotes, phases: Phases) -> Result<()> {
    let (connection, handler) = connect(job, i).await?;
    let init = RTCDataChannelInit { ordered: job.ordered, ..RTCDataChannelInit::default() };
    let channel = connection.create_data_channel(LABEL, Some(init)).await?;
    tokio::spawn(offerer_events(Arc::clone(job), i, Arc::clone(&channel)));
    tokio::spawn(send(Arc::clone(job), i, channel, phases));
    let description = connection.create_offer(None).await?;
    describe(job, i, &*connection, &handler, description).await?;
    while let Some(remote) = remotes.recv().await {
        match remote {
            Remote::Description(sdp) => {
                connection.set_remote_description(RTCSessionDescription::answer(sdp)?).await?;
            }
            Remote::Candidate(candidate) => add_candidate(&*connection, candidate).await?,
        }
    }
    Ok(())
}

async fn offerer_events(job: Arc<Job>, i: usize, channel: Arc<dyn DataChannel>) {
    while let Some(event) = channel.poll().await {
        match event {
            DataChannelEvent::OnOpen => job.opened(i),
            DataChannelEvent::OnMessage(message) => job.hello(i, &message.data),
            DataChannelEvent::OnError => job.failed(i, "channel error"),
            DataChannelEvent::OnClose => break,
            _ => {}
        }
    }
    job.failed(i, "the channel was closed");
}

/// Sends the messages of verify, then continuously from the warm-up on.
async fn send(job: Arc<Job>, i: usize, channel: Arc<dyn DataChannel>, mut phases: Phases) {
    let mut source = job.source(i);
    for begun in [Phase::Verify, Phase::Warmup] {
        phases.begun(begun).await;
        while begun > Phase::Verify || source.verifying() {
            if let Err(error) = channel.send(BytesMut::from(source.next_message())).await {
                job.failed(i, error);
            }
            source.sent();
        }
    }
}

async fn answer(job: &Arc<Job>, i: usize, mut remotes: Remotes) -> Result<()> {
    let mut connection = None;
    while let Some(remote) = remotes.recv().await {
        match (remote, &connection) {
            (Remote::Description(sdp), _) => {
                let (new, handler) = connect(job, i).await?;
                new.set_remote_description(RTCSessionDescription::offer(sdp)?).await?;
                let description = new.create_answer(None).await?;
                describe(job, i, &*new, &handler, description).await?;
                connection = Some(new);
            }
            (Remote::Candidate(candidate), Some(connection)) => {
                add_candidate(&**connection, candidate).await?
            }
            // The job delays candidates until the description.
            (Remote::Candidate(_), None) => {}
        }
    }
    Ok(())
}

async fn receive(job: Arc<Job>, i: usize, channel: Arc<dyn DataChannel>) {
    let mut sink = job.sink(i);
    while let Some(event) = channel.poll().await {
        match event {
            DataChannelEvent::OnOpen => {
                job.opened(i);
                if let Err(error) = channel.send(BytesMut::from(HELLO)).await {
                    job.failed(i, error);
                }
            }
            DataChannelEvent::OnMessage(message) => sink.on_message(&message.data),
            // The lab stops the offerer first; the counters show missing messages.
            DataChannelEvent::OnClose => break,
            _ => {}
        }
    }
}

/// Sets the local description and sends it with its candidates.
async fn describe(
    job: &Job,
    i: usize,
    connection: &dyn PeerConnection,
    handler: &Handler,
    local: RTCSessionDescription,
) -> Result<()> {
    connection.set_local_description(local).await?;
    handler.gathered.notified().await;
    match connection.local_description().await {
        Some(complete) => job.describe(i, complete.sdp),
        None => job.failed(i, "no local description"),
    }
    Ok(())
}

async fn add_candidate(connection: &dyn PeerConnection, candidate: Candidate) -> Result<()> {
    let Candidate { candidate, sdp_mid, sdp_mline_index } = candidate;
    let init = RTCIceCandidateInit { candidate, sdp_mid, sdp_mline_index, ..RTCIceCandidateInit::default() };
    connection.add_ice_candidate(init).await
}
