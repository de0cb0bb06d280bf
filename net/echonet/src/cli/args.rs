//! Command-line arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use netdyno_echonet::core::{ControllerConfig, NodeAddress, NodeSettings};
use netdyno_echonet::{Family, Settings};

use super::secret::Secret;
use super::{Failure, parse};

/// Find, read, write and watch ECHONET Lite devices, simulate them, and bridge them to an MQTT broker.
#[derive(Debug, Parser)]
#[command(name = "netdyno-echonet", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) network: Network,
    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-echonet scan                                    find devices
  netdyno-echonet get 192.168.1.20                        read all properties of a node
  netdyno-echonet get 192.168.1.20 029101 80 B0           read two properties of one object
  netdyno-echonet set 192.168.1.20 029101 80=30           switch a light on
  netdyno-echonet --tcp get 192.168.1.20                  read over TCP, if the node supports it
  netdyno-echonet -i eth1 --json watch --poll 60          print every change as JSON lines
  netdyno-echonet simulate home.toml                      simulate a home
  netdyno-echonet bridge --mqtt mqtt://localhost          publish devices to an MQTT broker
  netdyno-echonet names home_air_conditioner              list the properties and values of a class";

#[derive(Debug, Args)]
pub(crate) struct Network {
    /// Use this interface, by name or address; repeat for several; default: all that support multicast
    #[arg(long, short, value_name = "NAME|ADDRESS", global = true)]
    interface: Vec<String>,

    /// Bind this local address; each ECHONET Lite program on one machine needs a different one
    #[arg(long, value_name = "ADDRESS", global = true)]
    address: Option<IpAddr>,

    /// Select the IP version
    #[arg(long, value_enum, default_value_t = Ip::V4, global = true)]
    ip: Ip,

    /// Share port 3610 with another program; each unicast datagram then reaches only one of them
    #[arg(long, global = true)]
    share_port: bool,

    /// Execute requests from beyond a router too; by default they are ignored
    #[arg(long, global = true)]
    off_link: bool,

    /// Wait this long for a response
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds, global = true)]
    timeout: Duration,

    /// Retry a request without a response this many times; with --tcp, retry the connection
    #[arg(long, default_value_t = 2, global = true)]
    retries: u8,

    /// Wait this long between two requests to the same node, for slow devices
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, global = true)]
    gap: Duration,

    /// Send requests over TCP, which few nodes support; searches still use UDP. With `simulate`: also accept TCP
    #[arg(long, global = true)]
    pub(crate) tcp: bool,

    /// With --tcp: fall back to UDP if a connection fails, and retry TCP after ten minutes
    #[arg(long, requires = "tcp", global = true)]
    or_udp: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ip {
    #[value(name = "4")]
    V4,
    #[value(name = "6")]
    V6,
    Both,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Read the names of all classes from this folder, an unpacked Machine Readable Appendix of the ECHONET Consortium
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) mra: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Find nodes and list their objects
    Scan {
        /// Wait this long for responses
        #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
        wait: Duration,
    },
    /// Read properties of a node, of one object, or the given ones only
    Get {
        /// Address of the node
        node: String,
        /// Object: six hexadecimal digits, or a class's name, such as 029101
        object: Option<String>,
        /// Properties: two hexadecimal digits, or a name, such as 80
        #[arg(value_name = "PROPERTY")]
        properties: Vec<String>,
    },
    /// Write properties
    Set {
        /// Address of the node
        node: String,
        /// Object: six hexadecimal digits, or a class's name
        object: String,
        /// A property and its value, in hexadecimal digits or as `get` shows it
        #[arg(value_name = "PROPERTY=VALUE", required = true)]
        values: Vec<String>,
    },
    /// List known classes, or the properties of a class with the names and values that `get` and `set` accept
    Names {
        /// A class: four hexadecimal digits, or its name
        class: Option<String>,
    },
    /// Print property notifications, until Ctrl-C
    Watch {
        /// Addresses of nodes; default: all
        nodes: Vec<String>,
        /// Also read all readable properties at this interval, and print changes
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        poll: Option<Duration>,
    },
    /// Simulate the nodes of a home, until Ctrl-C
    Simulate {
        /// Description of the home; see docs/ECHONET.md
        file: PathBuf,
        /// Spread 1,000 responses to a search over this time
        #[arg(long, value_name = "MILLISECONDS", default_value_t = 250)]
        spread: u64,
        /// Drop datagrams beyond this number per second and node from one source, while others are waiting and other
        /// sources exist; 0: no limit
        #[arg(long, value_name = "NUMBER", default_value_t = Settings::default().source_limit_per_s)]
        source_limit: u32,
    },
    /// Publish device states to an MQTT broker and execute commands from it, until Ctrl-C
    Bridge {
        /// Connect to this broker: mqtt://[USER[:PASSWORD]@]HOST[:PORT], or mqtts:// for TLS. Set MQTT_PASSWORD in the
        /// environment to keep the password off the command line
        #[arg(long, value_name = "URL")]
        mqtt: Secret,
        /// With mqtts://: verify the broker against the CA certificates in this PEM file; default: the system's
        #[arg(long, value_name = "FILE")]
        mqtt_ca: Option<PathBuf>,
        /// With mqtts://: read the client certificate chain from this PEM file, if the broker requires one
        #[arg(long, value_name = "FILE", requires = "mqtt_key")]
        mqtt_cert: Option<PathBuf>,
        /// Read the unencrypted private key of --mqtt-cert from this PEM file
        #[arg(long, value_name = "FILE", requires = "mqtt_cert")]
        mqtt_key: Option<PathBuf>,
        /// Set the prefix of all topics
        #[arg(long, default_value = "echonet")]
        topic: String,
        /// Set the prefix of Home Assistant discovery topics; an empty prefix disables discovery
        #[arg(long, value_name = "PREFIX", default_value = "homeassistant")]
        discovery: String,
        /// Read each device at this interval; notifications are published immediately
        #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
        poll: Duration,
        /// Search for nodes at this interval
        #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
        search: Duration,
    },
}

/// Parses a number of seconds, which may be fractional.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|seconds| seconds.as_secs() <= 86_400).ok_or("expected seconds, 0 to 86400".to_owned())
}

impl Network {
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.interfaces.clone_from(&self.interface);
        settings.address = self.address;
        settings.share_port = self.share_port;
        settings.off_link_requests = self.off_link;
        settings.family = match self.ip {
            Ip::V4 => Family::V4,
            Ip::V6 => Family::V6,
            Ip::Both => Family::Both,
        };
        settings
    }

    /// Parses a node address of an enabled IP version.
    pub(crate) fn node(&self, text: &str) -> Result<NodeAddress, Failure> {
        let node = parse::node(text)?;
        match (self.ip, node.ip) {
            (Ip::V4, IpAddr::V6(_)) => {
                Err(Failure::new(format!("{text} is an IPv6 address: add --ip 6 or --ip both")))
            }
            (Ip::V6, IpAddr::V4(_)) => Err(Failure::new(format!("{text} is an IPv4 address: remove --ip 6"))),
            _ => Ok(node),
        }
    }

    /// Uses the experimental manufacturer code, since the project has none assigned.
    pub(crate) fn controller(&self) -> ControllerConfig {
        let mut config = ControllerConfig::new([0xFF, 0xFF, 0xFE], *b"netdyno-tools");
        let mut defaults = NodeSettings::default();
        (defaults.timeout, defaults.retries, defaults.gap) = (self.timeout, self.retries, self.gap);
        (defaults.tcp, defaults.udp_fallback) = (self.tcp, self.or_udp);
        config.defaults = defaults;
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_contains_no_password() {
        let cli = Cli::parse_from(["x", "bridge", "--mqtt", "mqtt://me:hunter2@broker"]);
        let text = format!("{cli:?}");
        assert!(text.contains("Bridge") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn arguments_are_parsed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
        let cli =
            Cli::parse_from(["x", "scan", "--wait", "0.5", "-i", "eth1", "--timeout", "9", "--ip", "both"]);
        assert_eq!(cli.network.settings().interfaces, ["eth1"]);
        assert_eq!(cli.network.controller().defaults.timeout, Duration::from_secs(9));
        for wrong in ["-1", "x", "1e9", ""] {
            let message = Cli::try_parse_from(["x", "scan", "--wait", wrong]).unwrap_err().to_string();
            assert!(wrong == "-1" || message.contains("expected seconds"), "{message}");
        }
    }
}
