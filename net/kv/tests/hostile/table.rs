//! The table of abuses.

use super::abuse::{
    Abuse, Abuser, BYTES, DeafSubscriber, Evidence, FLOOD, Guests, IDLE, UNREAD, Visitors, Writers, Writing,
    request,
};
use super::server::{CLIENTS_MAX, Options, TestServer};

fn inline_flood(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, FLOOD, b"", b"PING\r\n")
}

fn flood(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, FLOOD, b"", &request(&[b"PING"]))
}

fn unread_flood(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, UNREAD, b"", &request(&[b"PING"]))
}

fn large_replies(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 16, active: 16, part_bytes: 1 << 10, reads: false };
    Writers::start(server.address, settings, b"", &request(&[b"GET", b"big"]))
}

fn large_replies_of_many(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(
        server.address,
        Writing { connections: 100, ..IDLE },
        &request(&[b"GET", b"big"]).repeat(9),
        b"",
    )
}

fn flood_of_many(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 1000, active: 1000, part_bytes: 4 << 10, reads: true };
    Writers::start(server.address, settings, b"", &request(&[b"PING"]))
}

fn slow_writers(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, BYTES, b"", &request(&[b"ECHO", b"slow"]))
}

fn declared_lengths(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, BYTES, b"*1048576\r\n$536870912\r\n", b"x")
}

fn endless_arguments(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 100, active: 100, part_bytes: 256 << 10, reads: true };
    Writers::start(server.address, settings, b"*1048576\r\n$536870912\r\n", b"x")
}

fn expensive_guests(server: &TestServer) -> Box<dyn Abuser> {
    Guests::start(server.address, true, &guest_requests())
}

fn expensive_guests_without_reading(server: &TestServer) -> Box<dyn Abuser> {
    Guests::start(server.address, false, &guest_requests())
}

fn guest_requests() -> Vec<u8> {
    [request(&[b"GET", b"big"]), request(&[b"QUIT"])].concat()
}

fn nested_arrays(server: &TestServer) -> Box<dyn Abuser> {
    Visitors::start(server.address, &b"*1\r\n".repeat(256))
}

fn half_open(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, IDLE, b"*3\r\n$3\r\nSET\r\n$3\r\nhal", b"")
}

/// Fills all places. The server closes the connections above the limit.
fn idle(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: CLIENTS_MAX + 50, ..IDLE };
    Writers::start(server.address, settings, b"", b"")
}

fn port_scan(server: &TestServer) -> Box<dyn Abuser> {
    Visitors::start(server.address, b"")
}

fn half_replicas(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 8, ..IDLE };
    let port = request(&[b"REPLCONF", b"listening-port", b"1"]);
    let capabilities = request(&[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"]);
    Writers::start(server.address, settings, &[port, capabilities].concat(), b"")
}

fn deaf_replicas(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 8, ..IDLE };
    let capabilities = request(&[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"]);
    let copy = request(&[b"PSYNC", b"?", b"-1"]);
    Writers::start(server.address, settings, &[capabilities, copy].concat(), b"")
}

fn wrong_passwords(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, FLOOD, b"", &request(&[b"AUTH", b"guess"]))
}

fn deaf_subscriber(server: &TestServer) -> Box<dyn Abuser> {
    let one = Writing { connections: 1, ..IDLE };
    let subscriber = Writers::start(server.address, one, &request(&[b"SUBSCRIBE", b"news"]), b"");
    let settings = Writing { connections: 1, active: 1, part_bytes: 16 << 10, reads: true };
    let message = request(&[b"PUBLISH", b"news", &[b'm'; 16 << 10]]);
    let publisher = Writers::start(server.address, settings, b"", &message);
    Box::new(DeafSubscriber { _subscriber: subscriber, publisher })
}

fn deaf_monitor(server: &TestServer) -> Box<dyn Abuser> {
    Writers::start(server.address, Writing { connections: 1, ..IDLE }, b"MONITOR\r\n", b"")
}

fn endless_waits(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 500, active: 500, part_bytes: 1 << 10, reads: true };
    Writers::start(server.address, settings, &request(&[b"WAIT", b"1", b"0"]), &request(&[b"PING"]))
}

fn short_waits(server: &TestServer) -> Box<dyn Abuser> {
    let settings = Writing { connections: 100, active: 100, part_bytes: 1 << 10, reads: true };
    Writers::start(server.address, settings, b"", &request(&[b"WAIT", b"1", b"1"]))
}

fn blocking_pops(server: &TestServer) -> Box<dyn Abuser> {
    let keys: Vec<_> = (0..100).map(|number| format!("absent:{number}")).collect();
    let mut words: Vec<&[u8]> = vec![b"BLPOP"];
    words.extend(keys.iter().map(String::as_bytes));
    words.push(b"0");
    let settings = Writing { connections: 500, active: 500, part_bytes: 1 << 10, reads: true };
    Writers::start(server.address, settings, &request(&words), &request(&[b"PING"]))
}

fn endless_transactions(server: &TestServer) -> Box<dyn Abuser> {
    let queued = request(&[b"SET", b"key", &[b'v'; 1000]]);
    Writers::start(server.address, FLOOD, &request(&[b"MULTI"]), &queued)
}

fn watched_keys(server: &TestServer) -> Box<dyn Abuser> {
    let names: Vec<_> = (0..1000).map(|number| format!("watched:{number}")).collect();
    let mut words: Vec<&[u8]> = vec![b"WATCH"];
    words.extend(names.iter().map(String::as_bytes));
    let settings = Writing { connections: 8, active: 8, part_bytes: 1 << 10, reads: true };
    Writers::start(server.address, settings, b"", &request(&words))
}

/// The first half of a ClientHello.
fn half_handshakes(server: &TestServer) -> Box<dyn Abuser> {
    let mut hello = vec![22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    hello.resize(256, 0);
    Writers::start(server.tls_address.unwrap(), Writing { connections: 200, ..IDLE }, &hello, b"")
}

const PLAIN: Options = Options { password: false, tls: false };

pub(crate) const ABUSES: &[Abuse] = &[
    Abuse {
        name: "inline command flood",
        options: PLAIN,
        start: inline_flood,
        evidence: Evidence::Client("qbuf", 4096),
    },
    Abuse { name: "command flood", options: PLAIN, start: flood, evidence: Evidence::Client("qbuf", 4096) },
    Abuse {
        name: "command flood on many connections",
        options: PLAIN,
        start: flood_of_many,
        evidence: Evidence::Client("qbuf", 4096),
    },
    Abuse {
        name: "command flood without reading",
        options: PLAIN,
        start: unread_flood,
        evidence: Evidence::Client("omem", 64 << 10),
    },
    Abuse {
        name: "large replies without reading",
        options: PLAIN,
        start: large_replies,
        evidence: Evidence::Client("omem", 1 << 20),
    },
    Abuse {
        name: "large replies to many clients without reading",
        options: PLAIN,
        start: large_replies_of_many,
        evidence: Evidence::Info("evicted_clients", 1),
    },
    Abuse {
        name: "slow writers",
        options: PLAIN,
        start: slow_writers,
        evidence: Evidence::Client("qbuf", 1),
    },
    Abuse {
        name: "huge declared lengths",
        options: PLAIN,
        start: declared_lengths,
        evidence: Evidence::Client("qbuf", 20),
    },
    Abuse {
        name: "arguments without an end",
        options: PLAIN,
        start: endless_arguments,
        evidence: Evidence::Info("evicted_clients", 1),
    },
    Abuse {
        name: "nested arrays",
        options: PLAIN,
        start: nested_arrays,
        evidence: Evidence::Info("total_connections_received", 500),
    },
    Abuse {
        name: "half-open requests",
        options: PLAIN,
        start: half_open,
        evidence: Evidence::Client("qbuf", 20),
    },
    Abuse {
        name: "idle connections up to the limit",
        options: PLAIN,
        start: idle,
        evidence: Evidence::Info("rejected_connections", 50),
    },
    Abuse {
        name: "port scan",
        options: PLAIN,
        start: port_scan,
        evidence: Evidence::Info("total_connections_received", 500),
    },
    Abuse {
        name: "replica handshakes that stop",
        options: PLAIN,
        start: half_replicas,
        evidence: Evidence::ClientText("cmd", "replconf"),
    },
    Abuse {
        name: "replicas that do not read",
        options: PLAIN,
        start: deaf_replicas,
        evidence: Evidence::Info("connected_slaves", 8),
    },
    Abuse {
        name: "wrong passwords",
        options: Options { password: true, tls: false },
        start: wrong_passwords,
        evidence: Evidence::Info("acl_access_denied_auth", 1000),
    },
    Abuse {
        name: "subscriber that does not read",
        options: PLAIN,
        start: deaf_subscriber,
        evidence: Evidence::Info("client_output_buffer_limit_disconnections", 1),
    },
    Abuse {
        name: "monitor that does not read",
        options: PLAIN,
        start: deaf_monitor,
        evidence: Evidence::Client("omem", 64 << 10),
    },
    Abuse {
        name: "waits without an end",
        options: PLAIN,
        start: endless_waits,
        evidence: Evidence::Info("blocked_clients", 500),
    },
    Abuse {
        name: "flood of short waits",
        options: PLAIN,
        start: short_waits,
        evidence: Evidence::Info("blocked_clients", 1),
    },
    Abuse {
        name: "blocking pops",
        options: PLAIN,
        start: blocking_pops,
        evidence: Evidence::Info("blocked_clients", 500),
    },
    Abuse {
        name: "transactions that do not end",
        options: PLAIN,
        start: endless_transactions,
        evidence: Evidence::Info("evicted_clients", 1),
    },
    Abuse {
        name: "watched keys",
        options: PLAIN,
        start: watched_keys,
        evidence: Evidence::ClientText("cmd", "watch"),
    },
    Abuse {
        name: "TLS handshakes that stop",
        options: Options { password: false, tls: true },
        start: half_handshakes,
        evidence: Evidence::ClientText("cmd", "NULL"),
    },
    Abuse {
        name: "new connections for one large reply each",
        options: PLAIN,
        start: expensive_guests,
        evidence: Evidence::Info("total_connections_received", 500),
    },
    Abuse {
        name: "new connections for one large reply each without reading",
        options: PLAIN,
        start: expensive_guests_without_reading,
        evidence: Evidence::Info("total_connections_received", 500),
    },
];
