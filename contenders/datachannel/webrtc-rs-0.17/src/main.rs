//! The `datachannel` workload on webrtc-rs 0.17, the last version before the rewrite: both roles, with one task per connection.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use netdyno_contender::datachannel::{Candidate, HELLO, Job, LABEL, Role};
use netdyno_contender::tokio::{Phases, Remote, Remotes, run};
use netdyno_contender::{Lab, Phase, lock_version};
use tokio::sync::Notify;
use webrtc::Error;
use webrtc::api::APIBuilder;
use webrtc::api::setting_engine::SettingEngine;
use webrtc::data_channel::RTCDataChannel;
use webrtc::data_channel::data_channel_init::RTCDataChannelInit;
use webrtc::data_channel::data_channel_message::DataChannelMessage;
use webrtc::ice::mdns::MulticastDnsMode;
use webrtc::ice_transport::ice_candidate::RTCIceCandidateInit;
use webrtc::peer_connection::RTCPeerConnection;
use webrtc::peer_connection::configuration::RTCConfiguration;
use webrtc::peer_connection::sdp::session_description::RTCSessionDescription;

/// Maximum length of a received message, which is the length of the library's read buffer.
const MAX_MESSAGE_BYTES: usize = 65_535;
#[tokio::main]
async fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let version = lock_version(include_str!("../Cargo.lock"), "webrtc");
    let ready = || lab.ready("webrtc-rs-0.17", version, "tokio");
    run(&job, events, ready, |job, i, remotes, phases| async move {
        match job.role {
            Role::Offerer => offer(&job, i, remotes, phases).await,
            Role::Answerer => answer(&job, i, remotes).await,
        }
    })
    .await
}

/// The library's defaults, with one address and without mDNS.
async fn connect(job: &Job, i: usize) -> Result<RTCPeerConnection, Error> {
    job.created(i);
    let mut settings = SettingEngine::default();
    let local = job.local;
    settings.set_ip_filter(Box::new(move |address| address == local));
    settings.set_include_loopback_candidate(local.is_loopback());
    settings.set_ice_multicast_dns_mode(MulticastDnsMode::Disabled);
    let api = APIBuilder::new().with_setting_engine(settings).build();
    api.new_peer_connection(RTCConfiguration::default()).await
}

async fn offer(job: &Arc<Job>, i: usize, mut remotes: Remotes, phases: Phases) -> Result<(), Error> {
    let connection = connect(job, i).await?;
    let init = RTCDataChannelInit { ordered: Some(job.ordered), ..RTCDataChannelInit::default() };
    let channel = connection.create_data_channel(LABEL, Some(init)).await?;
    channel.on_open({
        let job = Arc::clone(job);
        Box::new(move || Box::pin(async move { job.opened(i) }))
    });
    channel.on_message({
        let job = Arc::clone(job);
        Box::new(move |message: DataChannelMessage| {
            job.hello(i, &message.data);
            Box::pin(async {})
        })
    });
    channel.on_close({
        let job = Arc::clone(job);
        Box::new(move || job.failed(i, "the channel was closed"))
    });
    tokio::spawn(send(Arc::clone(job), i, channel, phases));
    let description = connection.create_offer(None).await?;
    describe(job, i, &connection, description).await?;
    while let Some(remote) = remotes.recv().await {
        match remote {
            Remote::Description(sdp) => {
                connection.set_remote_description(RTCSessionDescription::answer(sdp)?).await?;
            }
            Remote::Candidate(candidate) => add_candidate(&connection, candidate).await?,
        }
    }
    Ok(())
}

/// Sends the messages of verify, then continuously from the warm-up on.
async fn send(job: Arc<Job>, i: usize, channel: Arc<RTCDataChannel>, mut phases: Phases) {
    let low_water = Arc::new(Notify::new());
    channel.set_buffered_amount_low_threshold(job.low_water_bytes()).await;
    channel
        .on_buffered_amount_low({
            let low_water = Arc::clone(&low_water);
            Box::new(move || {
                low_water.notify_one();
                Box::pin(async {})
            })
        })
        .await;
    let mut source = job.source(i);
    for begun in [Phase::Verify, Phase::Warmup] {
        phases.begun(begun).await;
        while begun > Phase::Verify || source.verifying() {
            if channel.buffered_amount().await >= job.high_water_bytes {
                while channel.buffered_amount().await > job.low_water_bytes() {
                    low_water.notified().await;
                }
            }
            if let Err(error) = channel.send(&Bytes::copy_from_slice(source.next_message())).await {
                job.failed(i, error);
            }
            source.sent();
        }
    }
}

async fn answer(job: &Arc<Job>, i: usize, mut remotes: Remotes) -> Result<(), Error> {
    let mut connection = None;
    while let Some(remote) = remotes.recv().await {
        match (remote, &connection) {
            (Remote::Description(sdp), _) => {
                let new = connect(job, i).await?;
                let receiver = Arc::clone(job);
                new.on_data_channel(Box::new(move |channel| {
                    receive(&receiver, i, &channel);
                    Box::pin(async {})
                }));
                new.set_remote_description(RTCSessionDescription::offer(sdp)?).await?;
                let description = new.create_answer(None).await?;
                describe(job, i, &new, description).await?;
                connection = Some(new);
            }
            (Remote::Candidate(candidate), Some(connection)) => add_candidate(connection, candidate).await?,
            // The job delays candidates until the description.
            (Remote::Candidate(_), None) => {}
        }
    }
    Ok(())
}

/// Sets the callbacks of the answerer's channel. The library closes the channel when the offerer has ended, which is not an error.
fn receive(job: &Arc<Job>, i: usize, channel: &Arc<RTCDataChannel>) {
    // Only the library's reader calls the closure. Its type requires the lock, which is never contended.
    let sink = Mutex::new(job.sink(i));
    channel.on_message(Box::new(move |message: DataChannelMessage| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).on_message(&message.data);
        Box::pin(async {})
    }));
    let (job, opened) = (Arc::clone(job), Arc::clone(channel));
    channel.on_open(Box::new(move || {
        Box::pin(async move {
            job.opened(i);
            if let Err(error) = opened.send(&Bytes::from_static(HELLO)).await {
                job.failed(i, error);
            }
        })
    }));
}

/// Sets the local description and sends it with its candidates.
async fn describe(
    job: &Job,
    i: usize,
    connection: &RTCPeerConnection,
    local: RTCSessionDescription,
) -> Result<(), Error> {
    let mut gathered = connection.gathering_complete_promise().await;
    connection.set_local_description(local).await?;
    // No value is sent: closing the channel is the signal.
    gathered.recv().await;
    match connection.local_description().await {
        Some(complete) => job.describe(i, complete.sdp),
        None => job.failed(i, "no local description"),
    }
    Ok(())
}

async fn add_candidate(connection: &RTCPeerConnection, candidate: Candidate) -> Result<(), Error> {
    let Candidate { candidate, sdp_mid, sdp_mline_index } = candidate;
    let init = RTCIceCandidateInit { candidate, sdp_mid, sdp_mline_index, ..RTCIceCandidateInit::default() };
    connection.add_ice_candidate(init).await
}
