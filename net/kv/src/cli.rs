//! Command-line arguments, and the server settings they resolve to.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use netdyno_kv::{
    AofSettings, AuthClients, Backend, Builder, Fsync, Limits, Server, SnapshotSettings, TlsSettings, core,
};

/// A Redis-compatible server.
///
/// Without options it listens on 127.0.0.1, port 6379, and keeps all data in memory.
#[derive(Debug, Parser)]
#[command(name = "netdyno-kv", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Listen on this address; repeat for several
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", num_args = 1..)]
    bind: Vec<IpAddr>,

    /// Listen on this port; 0 picks a free port, or disables plain TCP if --tls-port is set
    #[arg(long, default_value_t = 6379)]
    port: u16,

    /// Accept TLS clients on this port; 0 picks a free port
    #[arg(long, value_name = "PORT", requires_all = ["tls_cert_file", "tls_key_file"])]
    tls_port: Option<u16>,

    /// Read the server's certificate chain from this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_cert_file: Option<PathBuf>,

    /// Read the server's private key from this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_key_file: Option<PathBuf>,

    /// Verify client certificates against the CA certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_ca_cert_file: Option<PathBuf>,

    /// Require a client certificate
    #[arg(long, value_enum, default_value_t = TlsAuth::Yes)]
    tls_auth_clients: TlsAuth,

    /// Use this many threads for I/O and parsing; commands execute one at a time
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// Select the kernel interface for network I/O
    #[arg(long, value_enum, default_value_t = Io::Auto)]
    io: Io,

    /// Limit the number of connected clients
    #[arg(long, default_value_t = Limits::default().clients)]
    maxclients: usize,

    /// Disconnect clients that are idle for this many seconds; 0 disables the timeout
    #[arg(long, default_value_t = 0)]
    timeout: u64,

    /// Refuse clients from other machines if no password is set
    #[arg(long, value_enum, default_value_t = YesNo::Yes)]
    protected_mode: YesNo,

    /// Require this password from clients
    #[arg(long, value_name = "PASSWORD")]
    requirepass: Option<String>,

    /// Set the number of databases
    #[arg(long, default_value_t = 16)]
    databases: u32,

    /// Limit the memory used by keys and values, for example 100mb; 0 means no limit
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = memory)]
    maxmemory: String,

    /// Select which keys to evict at the memory limit
    #[arg(long, value_name = "POLICY", default_value = "noeviction", value_parser = policy)]
    maxmemory_policy: String,

    /// Log every write to the append-only file, and replay it on startup
    #[arg(long, value_enum, default_value_t = YesNo::No)]
    appendonly: YesNo,

    /// Store the append-only file and snapshots in this directory
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    dir: PathBuf,

    /// Set the name of the append-only file
    #[arg(long, value_name = "NAME", default_value = "appendonly.aof")]
    appendfilename: String,

    /// Set the name of the snapshot file
    #[arg(long, value_name = "NAME", default_value = "dump.rdb")]
    dbfilename: String,

    /// Save a snapshot after this many seconds if at least this many changes were made; repeat for several rules
    #[arg(long, value_name = "SECONDS CHANGES", num_args = 1..)]
    save: Vec<String>,

    /// Replicate this primary, given as IP address and port
    #[arg(long, value_names = ["ADDRESS", "PORT"], num_args = 2)]
    replicaof: Vec<String>,

    /// Authenticate to the primary with this password
    #[arg(long, value_name = "PASSWORD")]
    masterauth: Option<String>,

    /// Authenticate to the primary as this user instead of the default user
    #[arg(long, value_name = "USER")]
    masteruser: Option<String>,

    /// Allow CONFIG SET to change the directory and names of files
    #[arg(long, value_enum, default_value_t = YesNo::No)]
    enable_protected_configs: YesNo,

    /// Select when to sync the append-only file to disk
    #[arg(long, value_enum, default_value_t = Sync::Everysec)]
    appendfsync: Sync,

    /// Rewrite the append-only file after it has grown by this much; 0 disables automatic rewrites
    #[arg(long, value_name = "PERCENT", default_value_t = 100)]
    auto_aof_rewrite_percentage: u64,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-kv                                                  serve local clients, in memory
  netdyno-kv --maxmemory 100mb --maxmemory-policy allkeys-lru run as a cache
  netdyno-kv --appendonly yes --dir /var/lib/kv               persist writes; a power failure loses at most about 1 s
  netdyno-kv --appendonly yes --appendfsync always            persist each write before replying
  netdyno-kv --save 3600 1 --save 60 10000 --dir /var/lib/kv  save snapshots periodically and on shutdown
  netdyno-kv --bind 0.0.0.0 --requirepass secret              serve clients on other machines
  netdyno-kv --port 0 --tls-port 6379 --tls-cert-file kv.crt --tls-key-file kv.key --tls-auth-clients no
                                                              accept TLS clients only
  netdyno-kv --threads 4                                      use four threads, for hundreds of busy clients

Then, from another terminal: redis-cli set greeting hello";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TlsAuth {
    Yes,
    No,
    /// Accept clients without a certificate; verify it if one is sent
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Io {
    /// Use io_uring if the kernel supports it, otherwise epoll
    Auto,
    Epoll,
    #[value(name = "io_uring")]
    Uring,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sync {
    /// Before replying to a write
    Always,
    /// Once a second
    Everysec,
    /// Leave it to the kernel
    No,
}

fn memory(text: &str) -> Result<String, String> {
    validated("maxmemory", text, "a number of bytes with an optional unit kb, mb or gb, for example 100mb")
}

fn policy(text: &str) -> Result<String, String> {
    let rule = "noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, volatile-random or volatile-ttl";
    validated("maxmemory-policy", text, rule)
}

/// Returns the text if the configuration accepts it.
fn validated(name: &str, text: &str, rule: &str) -> Result<String, String> {
    let config = core::Config::default().with(name, text);
    config.map(|_| text.to_owned()).map_err(|_| format!("expected {rule}"))
}

impl Cli {
    /// The limit on connected clients.
    pub(crate) fn clients(&self) -> usize {
        self.maxclients
    }

    /// The server that these arguments describe.
    ///
    /// # Errors
    ///
    /// The value of an option is invalid.
    pub(crate) fn builder(&self) -> Result<Builder, core::Error> {
        let mut limits = Limits::default();
        limits.clients = self.maxclients;
        let mut builder = Server::builder()
            .threads(self.threads)
            .backend(match self.io {
                Io::Auto => Backend::Auto,
                Io::Epoll => Backend::Epoll,
                Io::Uring => Backend::Uring,
            })
            .limits(limits)
            .protected_mode(self.protected_mode == YesNo::Yes)
            .idle_timeout((self.timeout > 0).then(|| Duration::from_secs(self.timeout)))
            .config(self.config()?);
        let mut snapshots = SnapshotSettings::new(&self.dir);
        snapshots.file_name.clone_from(&self.dbfilename);
        builder = builder.snapshots(snapshots);
        if let [address, port] = &self.replicaof[..] {
            let primary = format!("{address}:{port}").replace("localhost", "127.0.0.1").parse::<SocketAddr>();
            let wrong = || {
                core::Error::new("--replicaof: must be an IP address and a port, for example 127.0.0.1 6379")
            };
            builder = builder.replica_of(primary.map_err(|_| wrong())?);
        }
        for address in &self.bind {
            if self.port > 0 || self.tls_port.is_none() {
                builder = builder.bind((*address, self.port));
            }
            if let (Some(port), Some(settings)) = (self.tls_port, self.tls()) {
                builder = builder.tls((*address, port), settings);
            }
        }
        if self.appendonly == YesNo::Yes {
            builder = builder.append_only(self.aof());
        }
        Ok(builder)
    }

    fn tls(&self) -> Option<TlsSettings> {
        let mut tls = TlsSettings::new(self.tls_cert_file.as_ref()?, self.tls_key_file.as_ref()?);
        tls.ca_cert_file.clone_from(&self.tls_ca_cert_file);
        tls.auth_clients = match self.tls_auth_clients {
            TlsAuth::Yes => AuthClients::Yes,
            TlsAuth::No => AuthClients::No,
            TlsAuth::Optional => AuthClients::Optional,
        };
        Some(tls)
    }

    fn aof(&self) -> AofSettings {
        let mut aof = AofSettings::new(&self.dir);
        aof.file_name.clone_from(&self.appendfilename);
        aof.rewrite_percent = self.auto_aof_rewrite_percentage;
        aof.fsync = match self.appendfsync {
            Sync::Always => Fsync::Always,
            Sync::Everysec => Fsync::EverySecond,
            Sync::No => Fsync::No,
        };
        aof
    }

    /// The configuration that commands read and `CONFIG GET` returns.
    fn config(&self) -> Result<core::Config, core::Error> {
        let yes_no = |value| if value == YesNo::Yes { "yes" } else { "no" };
        let fsync = match self.appendfsync {
            Sync::Always => "always",
            Sync::Everysec => "everysec",
            Sync::No => "no",
        };
        let bind = self.bind.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ");
        core::Config::default()
            .with("bind", &bind)?
            .with("port", &self.port.to_string())?
            .with("io-threads", &self.threads.to_string())?
            .with("maxclients", &self.maxclients.to_string())?
            .with("timeout", &self.timeout.to_string())?
            .with("protected-mode", yes_no(self.protected_mode))?
            .with("requirepass", self.requirepass.as_deref().unwrap_or_default())?
            .with("databases", &self.databases.to_string())?
            .with("maxmemory", &self.maxmemory)?
            .with("maxmemory-policy", &self.maxmemory_policy)?
            .with("appendonly", yes_no(self.appendonly))?
            .with("appendfilename", &self.appendfilename)?
            .with("appendfsync", fsync)?
            .with("replicaof", &self.replicaof.join(" "))?
            .with("masterauth", self.masterauth.as_deref().unwrap_or_default())?
            .with("masteruser", self.masteruser.as_deref().unwrap_or_default())?
            .with("save", &self.save.join(" "))?
            .with("enable-protected-configs", yes_no(self.enable_protected_configs))?
            .with("dir", &self.dir.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_value_is_rejected_with_the_rule_of_its_option() {
        for (option, value, part) in [
            ("--maxmemory", "lots", "'--maxmemory <BYTES>': expected a number of bytes"),
            ("--maxmemory-policy", "lru", "'--maxmemory-policy <POLICY>': expected noeviction"),
        ] {
            let told = Cli::try_parse_from(["netdyno-kv", option, value]).unwrap_err().to_string();
            assert!(told.contains(part) && told.contains(value) && !told.contains("CONFIG"), "{told}");
        }
        assert!(Cli::try_parse_from(["netdyno-kv", "--maxmemory", "100mb"]).is_ok());
    }
}
