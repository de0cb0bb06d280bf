//! Command-line arguments, and the server settings they resolve to.

mod values;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};
use netdyno_kv::{
    AofSettings, AuthClients, Backend, Builder, Fsync, Limits, ReplicaTlsSettings, Server, SnapshotSettings,
    TlsSettings, core,
};

/// A Redis-compatible server.
///
/// Without options it listens on 127.0.0.1, port 6379, and keeps all data in memory.
#[derive(Parser)]
#[command(name = "netdyno-kv", version, after_help = EXAMPLES, group = ArgGroup::new("tls").multiple(true))]
pub(crate) struct Cli {
    /// Listen on this address; repeat for several
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", num_args = 1..)]
    bind: Vec<IpAddr>,

    /// Listen on this port; 0 picks a free port, or disables plain TCP if --tls-port is set
    #[arg(long, default_value_t = 6379)]
    port: u16,

    /// Accept TLS clients on this port; 0 picks a free port
    #[arg(long, value_name = "PORT", group = "tls", requires_all = ["tls_cert_file", "tls_key_file"])]
    tls_port: Option<u16>,

    /// Read the server's certificate chain from this PEM file
    #[arg(long, value_name = "FILE", requires_all = ["tls", "tls_key_file"])]
    tls_cert_file: Option<PathBuf>,

    /// Read the server's private key from this PEM file
    #[arg(long, value_name = "FILE", requires_all = ["tls", "tls_cert_file"])]
    tls_key_file: Option<PathBuf>,

    /// Verify the certificates of clients and of the primary against the CA certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca_cert_file: Option<PathBuf>,

    /// Require a client certificate
    #[arg(long, value_enum, default_value_t = TlsAuth::Yes)]
    tls_auth_clients: TlsAuth,

    /// Connect to the primary over TLS
    #[arg(long, value_enum, group = "tls", requires_if("yes", "tls_ca_cert_file"), default_value_t = YesNo::No)]
    tls_replication: YesNo,

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

    /// Require this password from clients; other users can see it, so prefer --requirepass-file
    #[arg(long, value_name = "PASSWORD", env = "NETDYNO_KV_REQUIREPASS", hide_env_values = true)]
    requirepass: Option<String>,

    /// Read the password for clients from this file
    #[arg(long, value_name = "FILE", conflicts_with = "requirepass")]
    requirepass_file: Option<PathBuf>,

    /// Set the number of databases
    #[arg(long, default_value_t = 16)]
    databases: u32,

    /// Limit the memory used by keys and values, for example 100mb; 0 means no limit
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = values::memory)]
    maxmemory: String,

    /// Limit the memory of all clients' buffers, for example 1gb, by disconnecting the largest; 0 means no limit
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = values::client_memory)]
    maxmemory_clients: String,

    /// Select which keys to evict at the memory limit
    #[arg(long, value_name = "POLICY", default_value = "noeviction", value_parser = values::policy)]
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

    /// Authenticate to the primary with this password; other users can see it, so prefer --masterauth-file
    #[arg(long, value_name = "PASSWORD", env = "NETDYNO_KV_MASTERAUTH", hide_env_values = true)]
    masterauth: Option<String>,

    /// Read the password for the primary from this file
    #[arg(long, value_name = "FILE", conflicts_with = "masterauth")]
    masterauth_file: Option<PathBuf>,

    /// Authenticate to the primary as this user instead of the default user
    #[arg(long, value_name = "USER")]
    masteruser: Option<String>,

    /// Enable the DEBUG command
    #[arg(long, value_enum, default_value_t = DebugCommand::No)]
    enable_debug_command: DebugCommand,

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
  netdyno-kv --bind 0.0.0.0 --requirepass-file password       serve clients on other machines
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
enum DebugCommand {
    Yes,
    No,
    /// For clients on this machine
    Local,
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
        if let Some(settings) = self.replica_tls() {
            builder = builder.replica_tls(settings);
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

    fn replica_tls(&self) -> Option<ReplicaTlsSettings> {
        let ca_cert_file = self.tls_ca_cert_file.as_ref().filter(|_| self.tls_replication == YesNo::Yes)?;
        let mut tls = ReplicaTlsSettings::new(ca_cert_file);
        tls.certificate = self.tls_cert_file.clone().zip(self.tls_key_file.clone());
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
        let requirepass =
            values::secret("--requirepass-file", &self.requirepass, self.requirepass_file.as_deref())?;
        let masterauth =
            values::secret("--masterauth-file", &self.masterauth, self.masterauth_file.as_deref())?;
        let debug = match self.enable_debug_command {
            DebugCommand::Yes => "yes",
            DebugCommand::No => "no",
            DebugCommand::Local => "local",
        };
        let bind = self.bind.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ");
        core::Config::default()
            .with("bind", &bind)?
            .with("port", &self.port.to_string())?
            .with("io-threads", &self.threads.to_string())?
            .with("maxclients", &self.maxclients.to_string())?
            .with("timeout", &self.timeout.to_string())?
            .with("protected-mode", yes_no(self.protected_mode))?
            .with("requirepass", &requirepass)?
            .with("databases", &self.databases.to_string())?
            .with("maxmemory", &self.maxmemory)?
            .with("maxmemory-clients", &self.maxmemory_clients)?
            .with("maxmemory-policy", &self.maxmemory_policy)?
            .with("appendonly", yes_no(self.appendonly))?
            .with("appendfilename", &self.appendfilename)?
            .with("appendfsync", fsync)?
            .with("replicaof", &self.replicaof.join(" "))?
            .with("masterauth", &masterauth)?
            .with("tls-replication", yes_no(self.tls_replication))?
            .with("enable-debug-command", debug)?
            .with("masteruser", self.masteruser.as_deref().unwrap_or_default())?
            .with("save", &self.save.join(" "))?
            .with("enable-protected-configs", yes_no(self.enable_protected_configs))?
            .with("dir", &self.dir.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_invalid_value_is_rejected_with_the_rule_of_its_option() {
        for (option, value, part) in [
            ("--maxmemory", "lots", "'--maxmemory <BYTES>': expected a number of bytes"),
            ("--maxmemory-policy", "lru", "'--maxmemory-policy <POLICY>': expected noeviction"),
        ] {
            let message = Cli::try_parse_from(["netdyno-kv", option, value]).err().unwrap().to_string();
            assert!(
                message.contains(part) && message.contains(value) && !message.contains("CONFIG"),
                "{message}"
            );
        }
        assert!(Cli::try_parse_from(["netdyno-kv", "--maxmemory", "100mb"]).is_ok());
    }

    fn parsed(arguments: &[&str]) -> Result<core::Config, String> {
        let cli = Cli::try_parse_from([&["netdyno-kv"], arguments].concat()).map_err(|e| e.to_string())?;
        cli.config().map_err(|error| error.text().to_owned())
    }

    #[test]
    fn passwords_are_read_from_private_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let file = path.to_str().unwrap();
        for (content, mode, expected) in [
            ("secret\n", 0o600, Ok("secret")),
            ("with space \"", 0o400, Ok("with space \"")),
            ("secret\n", 0o640, Err("other users have access")),
            ("secret\n", 0o604, Err("other users have access")),
            ("", 0o600, Err("must contain one line")),
            ("\n", 0o600, Err("must contain one line")),
            ("a\nb\n", 0o600, Err("must contain one line")),
        ] {
            let _ = fs::remove_file(&path);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            for (option, parameter) in
                [("--requirepass-file", "requirepass"), ("--masterauth-file", "masterauth")]
            {
                match (parsed(&[option, file]), expected) {
                    (Ok(config), Ok(password)) => assert_eq!(config.get(parameter), Some(password)),
                    (Err(error), Err(part)) => {
                        assert!(error.contains(part) && error.contains(option), "{error}")
                    }
                    (found, _) => panic!("{content:?} {mode:o}: {found:?}"),
                }
            }
        }
        let error = parsed(&["--requirepass", "x", "--requirepass-file", file]).unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
        fs::remove_file(&path).unwrap();
        let error = parsed(&["--masterauth-file", file]).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn tls_options_require_each_other() {
        for (arguments, part) in [
            (&["--tls-port", "1"][..], "--tls-cert-file"),
            (&["--tls-replication", "yes"], "--tls-ca-cert-file"),
            (&["--tls-cert-file", "a", "--tls-key-file", "b"], "--tls-port"),
            (
                &["--tls-replication", "yes", "--tls-ca-cert-file", "a", "--tls-cert-file", "a"],
                "--tls-key-file",
            ),
        ] {
            let error = parsed(arguments).unwrap_err();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
        for arguments in [
            &["--tls-replication", "no"][..],
            &["--tls-replication", "yes", "--tls-ca-cert-file", "a"],
            &[
                "--tls-replication",
                "yes",
                "--tls-ca-cert-file",
                "a",
                "--tls-cert-file",
                "a",
                "--tls-key-file",
                "b",
            ],
        ] {
            parsed(arguments).unwrap();
        }
    }
}
