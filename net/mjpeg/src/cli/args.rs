//! The command line as typed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::source::SourceArgs;

/// Motion JPEG over RTP (RFC 2435): send, serve by RTSP, receive.
#[derive(Debug, Parser)]
#[command(name = "netdyno-mjpeg", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// One JSON object a line and second, for programs; on stderr where pictures go to stdout
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

A player opens what `send` sends by its description: ffplay -protocol_whitelist file,udp,rtp clip.sdp";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Send pictures to one address or group by RTP over UDP, until they end or Ctrl-C
    Send(SendArgs),
    /// Serve pictures by RTSP, to many clients at a time, by UDP or TCP, until Ctrl-C
    Serve(super::serve::ServeArgs),
    /// Receive pictures: as files, as one stream, or for the statistics alone, until Ctrl-C
    Receive(ReceiveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,

    /// Where to: an address or name and the port of RTP; RTCP goes to the next one. A group is sent to by multicast
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,

    /// Pictures a second; 0: as fast as they go. What comes at its own time, as from a camera, is sent as it comes
    #[arg(long, value_name = "N", default_value = "30", value_parser = fps)]
    pub(crate) fps: f64,

    /// Bytes of a packet, its RTP header included, 300 to 65507; UDP and IP take 28 more
    #[arg(long, value_name = "BYTES", default_value_t = 1400)]
    pub(crate) packet_bytes: usize,

    /// RTCP goes from and to RTP's own port (RFC 5761), for a receiver behind a firewall that lets one port through; not to a group
    #[arg(long)]
    pub(crate) rtcp_mux: bool,

    /// Write the stream's description there, for ffplay, VLC, GStreamer and `receive`
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,

    /// Send so many pictures, then end
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u64>,

    /// Routers that multicast may pass, and one more
    #[arg(long, value_name = "HOPS", default_value_t = 1)]
    pub(crate) ttl: u8,

    /// Name or address of the interface for multicast; without it the system chooses
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) interface: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReceiveArgs {
    /// Port of RTP to listen at, with an address of this machine, or a group; RTCP has the next one
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen, required_unless_present = "sdp")]
    pub(crate) listen: Option<SocketAddr>,

    /// The stream's description: port, group, payload type, and sizes that packets cannot tell
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,

    /// Write each picture into this folder, which is made: 00000001.jpg and so on, after those that are there
    #[arg(long, value_name = "FOLDER", conflicts_with = "stdout")]
    pub(crate) into: Option<PathBuf>,

    /// Write pictures to stdout, one JPEG file after the other
    #[arg(long)]
    pub(crate) stdout: bool,

    /// Show pictures and statistics on a page for browsers, here: 8080 is 127.0.0.1:8080. Whoever reaches the address may look
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = web)]
    pub(crate) web: Option<SocketAddr>,

    /// Take so many pictures, then end
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<u64>,

    /// End when the sender says goodbye
    #[arg(long)]
    pub(crate) once: bool,

    /// Milliseconds that a picture with missing packets is waited for
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub(crate) wait: u64,

    /// Name or address of the interface for multicast; without it the system chooses
    #[arg(long, value_name = "NAME|ADDRESS")]
    pub(crate) interface: Option<String>,
}

/// A rate, 0 to 1,000.
fn fps(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate == 0.0 || (0.001..=1000.0).contains(rate));
    rate.ok_or_else(|| "it takes pictures a second, 0.001 to 1000, or 0".to_owned())
}

/// A port alone is one of all addresses.
fn listen(text: &str) -> Result<SocketAddr, String> {
    address(text, Ipv4Addr::UNSPECIFIED)
}

/// A port alone is one of this machine's own.
fn web(text: &str) -> Result<SocketAddr, String> {
    address(text, Ipv4Addr::LOCALHOST)
}

fn address(text: &str, default: Ipv4Addr) -> Result<SocketAddr, String> {
    let text = text.strip_prefix(':').unwrap_or(text);
    let with_port = |port| SocketAddr::new(IpAddr::V4(default), port);
    text.parse()
        .or_else(|_| text.parse().map(with_port))
        .map_err(|_| "it takes a port, or ADDRESS:PORT".to_owned())
}

impl SendArgs {
    /// The first address that the name has.
    pub(crate) fn address(&self) -> Result<SocketAddr, String> {
        let told = |why: String| {
            format!(
                "--to {}: {why}; it takes an address or name and a port, such as 192.168.1.20:5004",
                self.to
            )
        };
        let mut found = self.to.to_socket_addrs().map_err(|error| told(error.to_string()))?;
        found.next().ok_or_else(|| told("no address".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_meant() {
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
