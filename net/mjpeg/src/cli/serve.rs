//! `serve`: an RTSP server.

use std::net::SocketAddr;
use std::thread;

use clap::Args;
use netdyno_mjpeg::server::{Left, Server, ServerConfig, ServerEvent};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Failure;
use super::source::SourceArgs;

/// Of `serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Where to listen for RTSP. Whoever reaches this address may watch: there are no names and passwords, which is why it is
    /// this machine alone unless you name another one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8554")]
    listen: SocketAddr,

    /// Path of the stream's address
    #[arg(long, value_name = "/PATH", default_value = "/stream")]
    path: String,

    /// Frames a second of files; a live source has a rate of its own
    #[arg(long, value_name = "RATE", default_value_t = 30.0)]
    fps: f64,

    /// Clients at a time
    #[arg(long, value_name = "N", default_value_t = 200)]
    clients: usize,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-mjpeg serve clip.mjpeg --loop                     a file of many pictures, to clients on this machine
  netdyno-mjpeg serve pictures/ --loop --fps 25             a folder of JPEG files
  netdyno-mjpeg serve clip.mjpeg --loop --listen 0.0.0.0:8554   to whoever reaches this machine
and to watch:
  ffplay rtsp://127.0.0.1:8554/stream                       (by TCP: ffplay -rtsp_transport tcp ..)
  vlc rtsp://127.0.0.1:8554/stream
  gst-launch-1.0 rtspsrc location=rtsp://127.0.0.1:8554/stream ! rtpjpegdepay ! jpegdec ! autovideosink";

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let source = args.source.open()?;
    let mut config = ServerConfig::default();
    config.listen = args.listen;
    config.path = args.path.clone();
    config.frames_per_s = args.fps;
    config.max_clients = args.clients;
    let server = Server::bind(config)?;
    let stopper = server.stopper();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let waiting = thread::spawn(move || {
        for _ in signals.forever() {
            stopper.stop();
        }
    });
    anstream::println!("rtsp://{}{}", server.address(), args.path);
    let result = server.run(source, |event| tell(&event));
    handle.close();
    let _ = waiting.join();
    let figures = result?;
    anstream::eprintln!(
        "{} frames; {} sent to clients, {} left out",
        figures.frames,
        figures.frames_sent,
        figures.frames_left_out
    );
    Ok(())
}

fn tell(event: &ServerEvent) {
    match event {
        ServerEvent::Started { peer, is_udp, clients } => {
            let way = if *is_udp { "UDP" } else { "TCP" };
            anstream::eprintln!("{peer} watches by {way}; clients: {clients}");
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
            let lost = lost_packets
                .map(|lost| format!(", {lost} packets lost by its own count"))
                .unwrap_or_default();
            anstream::eprintln!(
                "{peer} {why}: {frames} frames sent, {left_out} left out{lost}; clients: {clients}"
            );
        }
        ServerEvent::Refused(why) => anstream::eprintln!("left out a picture: {why}"),
        _ => {}
    }
}
