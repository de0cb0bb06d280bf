//! The command line, as typed.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use netdyno_echonet::core::{ControllerConfig, NodeAddress, NodeSettings};
use netdyno_echonet::{Family, Settings};

use super::{Failure, parse};

/// ECHONET Lite from the command line: find, read, write and watch the devices of a home, simulate one, and put it beside an
/// MQTT broker.
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
  netdyno-echonet scan                                    which devices are there
  netdyno-echonet get 192.168.1.20                        all that a node can tell
  netdyno-echonet get 192.168.1.20 029101 80 B0           two properties of one object
  netdyno-echonet set 192.168.1.20 029101 80=30           switch a light on
  netdyno-echonet --tcp get 192.168.1.20                  the same by TCP, where the node speaks it
  netdyno-echonet -i eth1 --json watch --poll 60          every change, as JSON lines
  netdyno-echonet simulate home.toml                      a virtual home
  netdyno-echonet bridge --mqtt mqtt://localhost          devices as topics of an MQTT broker
  netdyno-echonet names home_air_conditioner              what a class has, and how to write it";

#[derive(Debug, Args)]
pub(crate) struct Network {
    /// Name or address of the interface to be on; may be given several times. Without it: all that carry multicast
    #[arg(long, short, value_name = "NAME|ADDRESS", global = true)]
    interface: Vec<String>,

    /// Own address, where several programs on this machine speak ECHONET Lite: each needs one
    #[arg(long, value_name = "ADDRESS", global = true)]
    address: Option<IpAddr>,

    /// IP version
    #[arg(long, value_enum, default_value_t = Ip::V4, global = true)]
    ip: Ip,

    /// Bind port 3610 though another program has it: what is sent to an address goes to one of them
    #[arg(long, global = true)]
    share_port: bool,

    /// Seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds, global = true)]
    timeout: Duration,

    /// How often a request without an answer is sent again; with --tcp, how often another connection is tried
    #[arg(long, default_value_t = 2, global = true)]
    retries: u8,

    /// Seconds between two requests to one node, for devices that cannot take them faster
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds, global = true)]
    gap: Duration,

    /// Ask nodes by TCP, which few of them speak; searches stay with UDP. With `simulate`: take TCP connections too
    #[arg(long, global = true)]
    pub(crate) tcp: bool,

    /// With --tcp: ask by datagrams where no connection can be made, and try one again after ten minutes
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
    /// One JSON object a line, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Folder of the ECHONET Consortium's Machine Readable Appendix, unpacked, for the names of all classes
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) mra: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Find nodes, and say what they are
    Scan {
        /// Seconds to wait for answers
        #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
        wait: Duration,
    },
    /// Read properties: of all objects, of one, or those named
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
    /// List the classes that are known, or the properties of one: names as `get` and `set` take them, and values
    Names {
        /// A class: four hexadecimal digits, or its name
        class: Option<String>,
    },
    /// Tell what nodes tell, until Ctrl-C
    Watch {
        /// Addresses of nodes; without any: all
        nodes: Vec<String>,
        /// Read what can be read every so many seconds too, and tell what changed
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        poll: Option<Duration>,
    },
    /// Be a home of one node or thousands, until Ctrl-C
    Simulate {
        /// What the home has: see docs/ECHONET.md
        file: PathBuf,
        /// Milliseconds over which 1,000 answers to a search are spread
        #[arg(long, value_name = "MILLISECONDS", default_value_t = 250)]
        spread: u64,
    },
    /// Publish states to an MQTT broker, and take commands from it, until Ctrl-C
    Bridge {
        /// The broker: mqtt://[USER[:PASSWORD]@]HOST[:PORT], or mqtts:// for TLS. MQTT_PASSWORD in the environment keeps a
        /// password out of sight
        #[arg(long, value_name = "URL")]
        mqtt: String,
        /// With mqtts://: certificates of who may have signed the broker's, in PEM. Without it: those whom the system trusts
        #[arg(long, value_name = "FILE")]
        mqtt_ca: Option<PathBuf>,
        /// With mqtts://: our own certificate, where the broker asks for one, and those between it and its authority, in PEM
        #[arg(long, value_name = "FILE", requires = "mqtt_key")]
        mqtt_cert: Option<PathBuf>,
        /// The key of --mqtt-cert, in PEM, not encrypted
        #[arg(long, value_name = "FILE", requires = "mqtt_cert")]
        mqtt_key: Option<PathBuf>,
        /// What all topics begin with
        #[arg(long, default_value = "echonet")]
        topic: String,
        /// What Home Assistant's discovery topics begin with; empty: none are published
        #[arg(long, value_name = "PREFIX", default_value = "homeassistant")]
        discovery: String,
        /// Seconds between two readings of each device; what it tells by itself is published at once
        #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
        poll: Duration,
        /// Seconds between two searches
        #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
        search: Duration,
    },
}

/// A number of seconds, a fraction allowed.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|seconds| seconds.as_secs() <= 86_400).ok_or("it takes seconds, 0 to 86400".to_owned())
}

impl Network {
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.interfaces.clone_from(&self.interface);
        settings.address = self.address;
        settings.share_port = self.share_port;
        settings.family = match self.ip {
            Ip::V4 => Family::V4,
            Ip::V6 => Family::V6,
            Ip::Both => Family::Both,
        };
        settings
    }

    /// A node that can be asked.
    pub(crate) fn node(&self, text: &str) -> Result<NodeAddress, Failure> {
        let node = parse::node(text)?;
        match (self.ip, node.ip) {
            (Ip::V4, IpAddr::V6(_)) => {
                Err(Failure::told(format!("{text} is an address of IPv6: add --ip 6, or --ip both")))
            }
            (Ip::V6, IpAddr::V4(_)) => {
                Err(Failure::told(format!("{text} is an address of IPv4: leave --ip 6 out")))
            }
            _ => Ok(node),
        }
    }

    /// Controllers of the tool say that they are experimental: its makers have no code.
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
    fn what_is_typed_is_meant() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
        let cli =
            Cli::parse_from(["x", "scan", "--wait", "0.5", "-i", "eth1", "--timeout", "9", "--ip", "both"]);
        assert_eq!(cli.network.settings().interfaces, ["eth1"]);
        assert_eq!(cli.network.controller().defaults.timeout, Duration::from_secs(9));
        for wrong in ["-1", "x", "1e9", ""] {
            let told = Cli::try_parse_from(["x", "scan", "--wait", wrong]).unwrap_err().to_string();
            assert!(wrong == "-1" || told.contains("it takes seconds"), "{told}");
        }
    }
}
