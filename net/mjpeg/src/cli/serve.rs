//! `serve`: an RTSP server.

use std::net::SocketAddr;

use clap::Args;
use netdyno_mjpeg::server::{Figures, Left, Server, ServerConfig, ServerEvent, Stopper};
use serde_json::json;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use super::Failure;
use super::source::SourceArgs;
use super::status::{Rate, Status, bits};

/// What is told of pictures that are left out; of more only the count is.
const MAX_REMARKS: u64 = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Where to listen for RTSP. Whoever reaches the address may watch: there are no names and passwords. So it is this machine
    /// alone, unless you name another address; RTP goes by two UDP ports of the same one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8554")]
    listen: SocketAddr,

    /// Path of the stream's address
    #[arg(long, value_name = "/PATH", default_value = "/stream")]
    path: String,

    /// Pictures a second, up to 1000; asked of a camera. What comes at its own time is sent as it comes
    #[arg(long, value_name = "N", default_value_t = 30.0)]
    fps: f64,

    /// Clients at a time, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 200)]
    clients: usize,

    /// And of one host (an address, of IPv6 a network of 64 bits): more where many watch from behind one address
    #[arg(long, value_name = "N", default_value_t = 20)]
    clients_per_host: usize,

    /// Bytes of a packet, its RTP header included, 300 to 65507; UDP and IP take 28 more
    #[arg(long, value_name = "BYTES", default_value_t = 1400)]
    packet_bytes: usize,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-mjpeg serve clip.mjpeg --loop                         to clients on this machine
  netdyno-mjpeg serve pictures/ --loop --fps 5 --listen 0.0.0.0:8554
                                                                to whoever reaches this machine
Files are read while somebody watches: all see the same picture, and the next one goes on where the last one left.

To watch:
  ffplay rtsp://127.0.0.1:8554/stream                           by UDP; -rtsp_transport tcp: by TCP
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
    // Before the source: what it starts is to end with us.
    stop_on_signals(server.stopper())?;
    let source = args.source.open(args.fps)?;
    let url = format!("rtsp://{}{}", server.address(), args.path);
    if json {
        println!("{}", json!({ "serves": url }));
    } else {
        println!("{url}");
    }
    let (mut status, mut broken) = (Status::new(json, true), None);
    let stopper = server.stopper();
    let figures = server.run(source, |event| match event {
        ServerEvent::Figures(figures) => {
            if let Err(error) = show(&mut status, &figures, false) {
                broken = Some(error);
                stopper.stop();
            }
        }
        ServerEvent::Refused(why, count) if count <= MAX_REMARKS => {
            status.remark(&format!("left out: {why}"))
        }
        event => told(&event).into_iter().for_each(|text| status.remark(&text)),
    })?;
    match broken {
        Some(error) => Err(error.into()),
        None => Ok(show(&mut status, &figures, true)?),
    }
}

/// The first signal ends the server, the second the process.
fn stop_on_signals(stopper: Stopper) -> Result<(), Failure> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let obey = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            stopper.stop();
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(obey)?;
    Ok(())
}

fn show(status: &mut Status, figures: &Figures, last: bool) -> std::io::Result<()> {
    let text = |rate: Rate| {
        format!(
            "{} clients, {:.1} frames/s, {} each; {} frames, {} left out for slow clients",
            figures.clients,
            rate.frames_per_s,
            bits(rate.bytes_per_s),
            figures.frames,
            figures.frames_left_out
        )
    };
    let json = |rate: Rate| {
        json!({
            "clients": figures.clients,
            "frames": figures.frames,
            "packet_bytes": figures.stream_bytes,
            "frames_per_s": rate.frames_per_s,
            "bytes_per_s": rate.bytes_per_s,
            "frames_sent": figures.frames_sent,
            "frames_left_out": figures.frames_left_out,
            "left_out": figures.refused,
            "last": last,
        })
    };
    status.show((figures.frames, figures.stream_bytes), last, text, json)
}

/// Who comes and goes, for people.
fn told(event: &ServerEvent) -> Option<String> {
    match event {
        ServerEvent::Started { peer, is_udp, clients } => {
            let way = if *is_udp { "UDP" } else { "TCP" };
            Some(format!("{peer} watches by {way} ({clients} clients)"))
        }
        ServerEvent::Stopped { peer, why, frames, left_out, lost_packets, clients } => {
            let why = match why {
                Left::Paused => "pauses",
                Left::Ended => "has ended",
                Left::Disconnected => "has gone",
                Left::Silent => "gave no sign any more",
                Left::Stalled => "took nothing any more",
                _ => "was served to the end",
            };
            let lost = lost_packets.map(|lost| format!(", {lost} packets lost by its own count"));
            let lost = lost.unwrap_or_default();
            Some(format!("{peer} {why}: {frames} frames, {left_out} left out{lost} ({clients} clients)"))
        }
        _ => None,
    }
}
