//! The command line, as typed and as meant.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use netdyno_kv::{
    AofSettings, AuthClients, Backend, Builder, Fsync, Limits, Server, SnapshotSettings, TlsSettings, core,
};

/// A Redis-compatible server.
///
/// Without options it serves this machine alone, at port 6379, and keeps everything in memory.
#[derive(Debug, Parser)]
#[command(name = "netdyno-kv", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Address to listen at; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", num_args = 1..)]
    bind: Vec<IpAddr>,

    /// Port; 0 lets the kernel choose, or is none beside --tls-port
    #[arg(long, default_value_t = 6379)]
    port: u16,

    /// Port for clients that speak TLS; 0 lets the kernel choose
    #[arg(long, value_name = "PORT", requires_all = ["tls_cert_file", "tls_key_file"])]
    tls_port: Option<u16>,

    /// The server's certificate, in PEM, and those between it and the authority
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_cert_file: Option<PathBuf>,

    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_key_file: Option<PathBuf>,

    /// Certificates of the authorities whose clients are served, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_port")]
    tls_ca_cert_file: Option<PathBuf>,

    /// Whether clients have to show a certificate
    #[arg(long, value_enum, default_value_t = TlsAuth::Yes)]
    tls_auth_clients: TlsAuth,

    /// Threads that read, parse and write; commands are executed by one at a time
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// How the kernel is asked
    #[arg(long, value_enum, default_value_t = Io::Auto)]
    io: Io,

    /// Clients at a time
    #[arg(long, default_value_t = Limits::default().clients)]
    maxclients: usize,

    /// Seconds after which a silent client is closed; 0: never
    #[arg(long, default_value_t = 0)]
    timeout: u64,

    /// Refuse clients of other machines while there is no password
    #[arg(long, value_enum, default_value_t = YesNo::Yes)]
    protected_mode: YesNo,

    /// Password that clients have to give
    #[arg(long, value_name = "PASSWORD")]
    requirepass: Option<String>,

    /// Databases
    #[arg(long, default_value_t = 16)]
    databases: u32,

    /// Bytes that keys and values may take, for example 100mb; 0: as many as there are
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = memory)]
    maxmemory: String,

    /// Which keys go when they take more
    #[arg(long, value_name = "POLICY", default_value = "noeviction", value_parser = policy)]
    maxmemory_policy: String,

    /// Write every change to a file, and read it at the start
    #[arg(long, value_enum, default_value_t = YesNo::No)]
    appendonly: YesNo,

    /// Directory of that file, and of snapshots
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    dir: PathBuf,

    /// Name of that file
    #[arg(long, value_name = "NAME", default_value = "appendonly.aof")]
    appendfilename: String,

    /// Name of the snapshot's file
    #[arg(long, value_name = "NAME", default_value = "dump.rdb")]
    dbfilename: String,

    /// Make a snapshot once so many seconds went by and so many changes were made; may be given several times
    #[arg(long, value_name = "SECONDS CHANGES", num_args = 1..)]
    save: Vec<String>,

    /// Have the keys of this server, and follow what it changes: its address in digits, and its port
    #[arg(long, value_names = ["ADDRESS", "PORT"], num_args = 2)]
    replicaof: Vec<String>,

    /// Password that its clients have to give
    #[arg(long, value_name = "PASSWORD")]
    masterauth: Option<String>,

    /// User of that password, if it is not the default one's
    #[arg(long, value_name = "USER")]
    masteruser: Option<String>,

    /// Whether CONFIG SET may change where files are written
    #[arg(long, value_enum, default_value_t = YesNo::No)]
    enable_protected_configs: YesNo,

    /// When the append-only file is synced to the disk
    #[arg(long, value_enum, default_value_t = Sync::Everysec)]
    appendfsync: Sync,

    /// Rewrite it once it has grown by so many percent; 0: only by BGREWRITEAOF
    #[arg(long, value_name = "PERCENT", default_value_t = 100)]
    auto_aof_rewrite_percentage: u64,
}

const EXAMPLES: &str = "\
Examples:
  netdyno-kv                                                  serve this machine, in memory
  netdyno-kv --maxmemory 100mb --maxmemory-policy allkeys-lru as a cache
  netdyno-kv --appendonly yes --dir /var/lib/kv               keep what was written, but for the last second of a power cut
  netdyno-kv --appendonly yes --appendfsync always            keep all that was answered
  netdyno-kv --save 3600 1 --save 60 10000 --dir /var/lib/kv  make a snapshot now and then, and at the end
  netdyno-kv --bind 0.0.0.0 --requirepass secret              serve other machines
  netdyno-kv --port 0 --tls-port 6379 --tls-cert-file kv.crt --tls-key-file kv.key --tls-auth-clients no
                                                              speak TLS, and nothing else
  netdyno-kv --threads 4                                      for hundreds of busy clients

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
    /// They may, and then it has to be right
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Io {
    /// The faster that the kernel has
    Auto,
    Epoll,
    #[value(name = "io_uring")]
    Uring,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sync {
    /// Before a change is answered
    Always,
    /// Once a second
    Everysec,
    /// When the kernel likes
    No,
}

fn memory(text: &str) -> Result<String, String> {
    taken("maxmemory", text, "a number of bytes, with kb, mb or gb behind it if you like: 100mb")
}

fn policy(text: &str) -> Result<String, String> {
    let rule = "noeviction, or lru, lfu or random behind allkeys- or volatile-, or volatile-ttl";
    taken("maxmemory-policy", text, rule)
}

/// What the configuration takes; otherwise what it would take.
fn taken(name: &str, text: &str, rule: &str) -> Result<String, String> {
    let config = core::Config::default().with(name, text);
    config.map(|_| text.to_owned()).map_err(|_| format!("it takes {rule}"))
}

impl Cli {
    /// How many clients are to fit.
    pub(crate) fn clients(&self) -> usize {
        self.maxclients
    }

    /// The server that is meant.
    ///
    /// # Errors
    ///
    /// A value is none that its option takes.
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
                core::Error::new("--replicaof: must be an address in digits and a port, as in 127.0.0.1 6379")
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

    /// What the commands want to know, and `CONFIG GET` shows.
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
    fn a_value_that_an_option_does_not_take_is_refused_in_its_words() {
        for (option, value, part) in [
            ("--maxmemory", "lots", "'--maxmemory <BYTES>': it takes a number of bytes"),
            ("--maxmemory-policy", "lru", "'--maxmemory-policy <POLICY>': it takes noeviction"),
        ] {
            let told = Cli::try_parse_from(["netdyno-kv", option, value]).unwrap_err().to_string();
            assert!(told.contains(part) && told.contains(value) && !told.contains("CONFIG"), "{told}");
        }
        assert!(Cli::try_parse_from(["netdyno-kv", "--maxmemory", "100mb"]).is_ok());
    }
}
