//! The command line as typed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::source::SourceArgs;

/// Send, serve (RTSP) and receive Motion JPEG over RTP (RFC 2435).
#[derive(Debug, Parser)]
#[command(name = "netdyno-mjpeg", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// Print statistics as JSON, one object per second; on stderr if frames go to stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-mjpeg send clip.mjpeg --loop --to 192.168.1.20:5004 --sdp clip.sdp
  netdyno-mjpeg send pictures/ --fps 5 --to 239.1.2.3:5004 --ttl 4
  netdyno-mjpeg send camera --size 1280x720 --to 192.168.1.20:5004
  netdyno-mjpeg send 'exec:curl -sN http://192.168.1.30/video.mjpg' --to 192.168.1.20:5004
  netdyno-mjpeg send 'gstreamer:videotestsrc is-live=true ! video/x-raw,format=I420 ! jpegenc' --to 127.0.0.1:5004
  netdyno-mjpeg send pattern --size 640x360 --to 127.0.0.1:5004
  netdyno-mjpeg serve clip.mjpeg --loop
  netdyno-mjpeg receive --listen 5004 --web 8080
  netdyno-mjpeg receive --listen 5004 --into frames/
  netdyno-mjpeg receive --sdp clip.sdp --stdout | ffplay -f mjpeg -

To play a stream from `send`, open its SDP file: ffplay -protocol_whitelist file,udp,rtp clip.sdp";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Send frames to a unicast or multicast address using RTP over UDP, until the source ends or Ctrl-C
    Send(SendArgs),
    /// Serve frames to RTSP clients over UDP or TCP, until Ctrl-C
    Serve(super::serve::ServeArgs),
    /// Receive frames and write them to files, a stream or a web page, or print statistics only, until Ctrl-C
    Receive(ReceiveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,

    /// Send RTP to this host and port, and RTCP to the next port; a multicast address selects multicast
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,

    /// Send this many frames per second; 0 sends as fast as possible. Live sources keep their own rate
    #[arg(long, value_name = "N", default_value = "30", value_parser = fps)]
    pub(crate) fps: f64,

    /// Limit RTP packets to this size, RTP header included, 300 to 65507; UDP and IPv4 add 28 bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1400)]
    pub(crate) packet_bytes: usize,

    /// Send RTP and RTCP over one port (RFC 5761), for receivers behind a firewall; unicast only
    #[arg(long)]
    pub(crate) rtcp_mux: bool,

    /// Write the session description (SDP) to this file, for ffplay, VLC, GStreamer and `receive`
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,

    /// Stop after sending this many frames
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u64>,

    /// Set the TTL of multicast packets; 1 keeps them on the local network
    #[arg(long, value_name = "HOPS", default_value_t = 1)]
    pub(crate) ttl: u8,

    /// Use this interface for multicast, by name or address; default: chosen by the system
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) interface: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiveArgs {
    /// Receive RTP on this port, optionally at a local or multicast address, and RTCP on the next port
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen, required_unless_present = "sdp")]
    pub(crate) listen: Option<SocketAddr>,

    /// Read the port, group, payload type and frame size from this session description (SDP)
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,

    /// Write frames to this folder as 00000001.jpg and so on, numbered after existing files; create it if missing
    #[arg(long, value_name = "FOLDER", conflicts_with = "stdout")]
    pub(crate) into: Option<PathBuf>,

    /// Write frames to stdout as consecutive JPEG files
    #[arg(long)]
    pub(crate) stdout: bool,

    /// Serve a web page with frames and statistics on this address, 127.0.0.1 by default; it has no access control
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = web)]
    pub(crate) web: Option<SocketAddr>,

    /// Stop after receiving this many frames
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u64>,

    /// Stop when the sender sends an RTCP BYE
    #[arg(long)]
    pub(crate) once: bool,

    /// Wait this long for the missing packets of a frame
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) wait: u64,

    /// Use this interface for multicast, by name or address; default: chosen by the system
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) interface: Option<String>,
}

/// Parses a frame rate, 0 to 1,000.
fn fps(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate == 0.0 || (0.001..=1000.0).contains(rate));
    rate.ok_or_else(|| "expected frames per second: 0.001 to 1000, or 0".to_owned())
}

/// Parses a listening address; a port alone means all addresses.
fn listen(text: &str) -> Result<SocketAddr, String> {
    address(text, Ipv4Addr::UNSPECIFIED)
}

/// Parses the web page's address; a port alone means 127.0.0.1.
fn web(text: &str) -> Result<SocketAddr, String> {
    address(text, Ipv4Addr::LOCALHOST)
}

fn address(text: &str, default: Ipv4Addr) -> Result<SocketAddr, String> {
    let text = text.strip_prefix(':').unwrap_or(text);
    let with_port = |port| SocketAddr::new(IpAddr::V4(default), port);
    text.parse()
        .or_else(|_| text.parse().map(with_port))
        .map_err(|_| "expected PORT or ADDRESS:PORT".to_owned())
}

impl SendArgs {
    /// Resolves the destination to its first address.
    pub(crate) fn address(&self) -> Result<SocketAddr, String> {
        let error_for = |cause: String| {
            format!("--to {}: {cause}; expected HOST:PORT, for example 192.168.1.20:5004", self.to)
        };
        let mut found = self.to.to_socket_addrs().map_err(|error| error_for(error.to_string()))?;
        found.next().ok_or_else(|| error_for("the name has no address".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parsed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
        for (text, expected) in [
            ("5004", "0.0.0.0:5004"),
            (":5004", "0.0.0.0:5004"),
            ("127.0.0.1:6", "127.0.0.1:6"),
            ("[::1]:6", "[::1]:6"),
        ] {
            assert_eq!(listen(text).unwrap().to_string(), expected);
        }
        assert!(listen("x").is_err() && listen("127.0.0.1").is_err());
        for (text, expected) in
            [("0", Some(0.0)), ("29.97", Some(29.97)), ("-1", None), ("inf", None), ("1001", None)]
        {
            assert_eq!(fps(text).ok(), expected, "{text}");
        }
    }
}
