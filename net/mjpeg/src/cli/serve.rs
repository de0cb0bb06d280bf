//! `serve`: the RTSP server.

use std::net::SocketAddr;

use clap::Args;
use netdyno_mjpeg::server::{Server, ServerConfig, ServerEvent, ServerStats, StopReason, Stopper};
use serde_json::json;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use super::Failure;
use super::source::SourceArgs;
use super::status::{Rate, Status, bits};

/// Number of skipped pictures that are reported individually.
const MAX_REMARKS: u64 = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Listen for RTSP on this address. There is no authentication: every client that reaches the address can play the stream.
    /// RTP uses two free UDP ports on the same address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8554")]
    listen: SocketAddr,

    /// Set the path of the stream's URL
    #[arg(long, value_name = "/PATH", default_value = "/stream")]
    path: String,

    /// Serve this many frames per second, up to 1000; cameras are set to this rate. Other live sources keep their own rate
    #[arg(long, value_name = "N", default_value_t = 30.0)]
    fps: f64,

    /// Limit the number of clients, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 200)]
    clients: usize,

    /// Limit the number of clients per host (an IPv4 address or an IPv6 /64 network)
    #[arg(long, value_name = "N", default_value_t = 20)]
    clients_per_host: usize,

    /// Limit RTP packets to this size, RTP header included, 300 to 65507; UDP and IPv4 add 28 bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1400)]
    packet_bytes: usize,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-mjpeg serve clip.mjpeg --loop                         for clients on this machine
  netdyno-mjpeg serve pictures/ --loop --fps 5 --listen 0.0.0.0:8554
                                                                for all clients that reach this machine
All clients receive the same frame. Files are read only while a client plays.

To play the stream:
  ffplay rtsp://127.0.0.1:8554/stream                           over UDP; with -rtsp_transport tcp over TCP
  gst-launch-1.0 rtspsrc location=rtsp://127.0.0.1:8554/stream ! rtpjpegdepay ! jpegdec ! autovideosink";

pub(crate) fn run(args: &ServeArgs, json: bool) -> Result<(), Failure> {
    let mut config = ServerConfig::default();
    config.listen = args.listen;
    config.path.clone_from(&args.path);
    config.frames_per_s = args.fps;
    config.max_clients = args.clients;
    config.max_clients_per_host = args.clients_per_host;
    config.packet_bytes = args.packet_bytes;
    let server = Server::bind(config)?;
    // Handle signals before starting the source, so that its child processes are ended.
    stop_on_signals(server.stopper())?;
    let source = args.source.open(args.fps)?;
    let url = format!("rtsp://{}{}", server.address(), args.path);
    if json {
        println!("{}", json!({ "serves": url }));
    } else {
        println!("{url}");
    }
    let (mut status, mut output_error) = (Status::new(json, true), None);
    let stopper = server.stopper();
    let stats = server.run(source, |event| match event {
        ServerEvent::Stats(stats) => {
            if let Err(error) = show(&mut status, &stats, false) {
                output_error = Some(error);
                stopper.stop();
            }
        }
        ServerEvent::PictureSkipped { cause, count } if count <= MAX_REMARKS => {
            status.remark(&format!("picture skipped: {cause}"))
        }
        event => describe(&event).into_iter().for_each(|text| status.remark(&text)),
    })?;
    match output_error {
        Some(error) => Err(error.into()),
        None => Ok(show(&mut status, &stats, true)?),
    }
}

/// The first signal stops the server, the second one ends the process.
fn stop_on_signals(stopper: Stopper) -> Result<(), Failure> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let handle = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            stopper.stop();
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(handle)?;
    Ok(())
}

fn show(status: &mut Status, stats: &ServerStats, last: bool) -> std::io::Result<()> {
    let text = |rate: Rate| {
        format!(
            "{} clients, {:.1} frames/s, {} each; {} frames, {} skipped for slow clients",
            stats.clients,
            rate.frames_per_s,
            bits(rate.bytes_per_s),
            stats.frames,
            stats.skipped_frames
        )
    };
    let json = |rate: Rate| {
        json!({
            "clients": stats.clients,
            "frames": stats.frames,
            "packet_bytes": stats.stream_bytes,
            "frames_per_s": rate.frames_per_s,
            "bytes_per_s": rate.bytes_per_s,
            "frames_sent": stats.frames_sent,
            "frames_left_out": stats.skipped_frames,
            "left_out": stats.skipped_pictures,
            "rejections": stats.rejections,
            "foreign_datagrams": stats.foreign_datagrams,
            "last": last,
        })
    };
    status.show((stats.frames, stats.stream_bytes), last, text, json)
}

/// Describes the start and stop of a client.
fn describe(event: &ServerEvent) -> Option<String> {
    match event {
        ServerEvent::Started { peer, is_udp, clients } => {
            let transport = if *is_udp { "UDP" } else { "TCP" };
            Some(format!("{peer} started over {transport} ({clients} clients)"))
        }
        ServerEvent::Stopped { peer, reason, frames, skipped_frames, lost_packets, clients } => {
            let reason = match reason {
                StopReason::Paused => "paused",
                StopReason::Teardown => "stopped",
                StopReason::Disconnected => "disconnected",
                StopReason::TimedOut => "timed out",
                StopReason::Stalled => "stalled and was disconnected",
                _ => "ended with the server",
            };
            let lost = lost_packets.map(|lost| format!(", {lost} packets reported lost"));
            let lost = lost.unwrap_or_default();
            Some(format!(
                "{peer} {reason}: {frames} frames, {skipped_frames} skipped{lost} ({clients} clients)"
            ))
        }
        ServerEvent::InexactDimensions(inexact) => Some(inexact.to_string()),
        ServerEvent::Rejected { peer, cause } => Some(format!("{peer} rejected: {cause}")),
        _ => None,
    }
}
