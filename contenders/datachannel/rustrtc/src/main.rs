//! The `datachannel` workload on rustrtc: both roles, with one task per connection and one per channel for its events.

use std::sync::Arc;

use netdyno_contender::datachannel::{Candidate, HELLO, Job, LABEL, Role};
use netdyno_contender::tokio::{Phases, Remote, Remotes, run};
use netdyno_contender::{Lab, Phase, lock_version};
use rustrtc::transports::sctp::{DataChannel, DataChannelConfig};
use rustrtc::{
    DataChannelEvent, IceCandidate, PeerConnection, PeerConnectionEvent, RtcConfiguration,
    RtcConfigurationBuilder, SdpType, SessionDescription,
};
use tokio::sync::Notify;

/// Maximum length of a received message.
const MAX_MESSAGE_BYTES: usize = 262_144;
/// The library has separate error types for SDP and for other errors.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let version = lock_version(include_str!("../Cargo.lock"), "rustrtc");
    let ready = || lab.ready("rustrtc", version, "tokio");
    run(&job, events, ready, |job, i, remotes, phases| async move {
        match job.role {
            Role::Offerer => offer(&job, i, remotes, phases).await,
            Role::Answerer => answer(&job, i, remotes).await,
        }
    })
    .await
}

/// The library's defaults, with one address.
fn configuration(job: &Job) -> RtcConfiguration {
    RtcConfigurationBuilder::new().bind_ip(job.local.to_string()).build()
}

async fn offer(job: &Arc<Job>, i: usize, mut remotes: Remotes, phases: Phases) -> Outcome<()> {
    job.created(i);
    let connection = PeerConnection::new(configuration(job));
    let config = DataChannelConfig {
        ordered: job.ordered,
        buffered_amount_low_threshold: job.low_water_bytes(),
        ..DataChannelConfig::default()
    };
    let channel = connection.create_data_channel(LABEL, Some(config))?;
    let low_water = Arc::new(Notify::new());
    tokio::spawn(offerer_events(Arc::clone(job), i, Arc::clone(&channel), Arc::clone(&low_water)));

    let description = connection.create_offer().await?;
    describe(job, i, &connection, description).await?;
    while let Some(remote) = remotes.recv().await {
        match remote {
            Remote::Description(sdp) => {
                connection.set_remote_description(SessionDescription::parse(SdpType::Answer, &sdp)?).await?;
                let (job, connection, channel) = (Arc::clone(job), connection.clone(), Arc::clone(&channel));
                tokio::spawn(send(job, i, connection, channel, Arc::clone(&low_water), phases.clone()));
            }
            Remote::Candidate(candidate) => add_candidate(&connection, &candidate)?,
        }
    }
    Ok(())
}

async fn offerer_events(job: Arc<Job>, i: usize, channel: Arc<DataChannel>, low_water: Arc<Notify>) {
    while let Some(event) = channel.recv().await {
        match event {
            DataChannelEvent::Open => job.opened(i),
            DataChannelEvent::Message(message) => job.hello(i, &message),
            DataChannelEvent::BufferedAmountLow(_) => low_water.notify_one(),
            DataChannelEvent::Close => break,
        }
    }
    job.failed(i, "the channel was closed");
}

/// Sends the messages of verify, then continuously from the warm-up on.
///
/// `send_data` itself waits while more than `sctp_max_buffered_amount` (256 KiB by default) is queued, so the workload's
/// high-water mark takes effect only if it is lower.
async fn send(
    job: Arc<Job>,
    i: usize,
    connection: PeerConnection,
    channel: Arc<DataChannel>,
    low_water: Arc<Notify>,
    mut phases: Phases,
) {
    let mut source = job.source(i);
    for begun in [Phase::Verify, Phase::Warmup] {
        phases.begun(begun).await;
        while begun > Phase::Verify || source.verifying() {
            if channel.buffered_amount() >= job.high_water_bytes {
                while channel.buffered_amount() > job.low_water_bytes() {
                    low_water.notified().await;
                }
            }
            if let Err(error) = connection.send_data(channel.id, source.next_message()).await {
                job.failed(i, error);
            }
            source.sent();
        }
    }
}

async fn answer(job: &Arc<Job>, i: usize, mut remotes: Remotes) -> Outcome<()> {
    let mut connection = None;
    while let Some(remote) = remotes.recv().await {
        match (remote, &connection) {
            (Remote::Description(sdp), _) => {
                job.created(i);
                let new = connection.insert(PeerConnection::new(configuration(job)));
                new.set_remote_description(SessionDescription::parse(SdpType::Offer, &sdp)?).await?;
                tokio::spawn(receive(Arc::clone(job), i, new.clone()));
                let description = new.create_answer().await?;
                describe(job, i, new, description).await?;
            }
            (Remote::Candidate(candidate), Some(connection)) => add_candidate(connection, &candidate)?,
            // The job delays candidates until the description.
            (Remote::Candidate(_), None) => {}
        }
    }
    Ok(())
}

async fn receive(job: Arc<Job>, i: usize, connection: PeerConnection) {
    let channel = loop {
        match connection.recv().await {
            Some(PeerConnectionEvent::DataChannel(channel)) => break channel,
            Some(PeerConnectionEvent::Track(_)) => {}
            None => job.failed(i, "the connection was closed before its channel opened"),
        }
    };
    let mut sink = job.sink(i);
    while let Some(event) = channel.recv().await {
        match event {
            DataChannelEvent::Open => {
                job.opened(i);
                if let Err(error) = connection.send_data(channel.id, HELLO).await {
                    job.failed(i, error);
                }
            }
            DataChannelEvent::Message(message) => sink.on_message(&message),
            DataChannelEvent::BufferedAmountLow(_) => {}
            // The lab stops the offerer first; the counters show missing messages.
            DataChannelEvent::Close => break,
        }
    }
}

/// Sets the local description and sends it with its candidates.
async fn describe(
    job: &Job,
    i: usize,
    connection: &PeerConnection,
    local: SessionDescription,
) -> Outcome<()> {
    connection.set_local_description(local)?;
    connection.wait_for_gathering_complete().await;
    match connection.local_description() {
        Some(complete) => job.describe(i, complete.to_sdp_string()),
        None => job.failed(i, "no local description"),
    }
    Ok(())
}

fn add_candidate(connection: &PeerConnection, candidate: &Candidate) -> Outcome<()> {
    Ok(connection.add_ice_candidate(IceCandidate::from_sdp(&candidate.candidate)?)?)
}
