//! `netdyno serve` over real HTTP on loopback, and `netdyno site`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use crate::bench::Bench;
use crate::served::{Answer, Served, with_a_run};

#[test]
fn pages_are_served_for_names_of_this_machine() {
    let (bench, id) = with_a_run();
    bench.write("docs/studies/one.md", "# What one costs\n\ntext\n");
    let served = Served::start(&bench, &["--name", "lab.example"]);
    for (path, part) in [
        ("/", "Benchmark results"),
        ("/index.html", "What one costs"),
        ("/runs-1.html", id.as_str()),
        (&format!("/runs/{id}.html"), id.as_str()),
        ("/history/dummy.html", "History of"),
        ("/studies/one.html", "<p>text</p>"),
    ] {
        let answer = served.get(path);
        assert!(answer.status == 200 && answer.body.contains(part), "{path}: {answer:?}");
        assert_eq!(answer.head("content-type"), Some("text/html; charset=utf-8"));
        let policy = answer.head("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(answer.body.contains("http-equiv=\"Content-Security-Policy\""));
        for (name, value) in [("x-content-type-options", "nosniff"), ("cache-control", "no-store")] {
            assert_eq!(answer.head(name), Some(value), "{path}");
        }
    }
    let only_head = served.ask("HEAD /", "", "");
    assert!(only_head.status == 200 && only_head.body.is_empty(), "{only_head:?}");
    assert_eq!(served.get("/live.js").head("content-type"), Some("text/javascript; charset=utf-8"));
    for (line, heads, status) in [
        ("GET /none.html", "", 404),
        ("GET /runs/none.html", "", 404),
        ("GET /runs/../../../etc/passwd", "", 404),
        ("GET /runs/..%2f..%2fx.html", "", 404),
        ("GET /studies/../one.md", "", 404),
        ("POST /", "", 405),
        ("POST /login", "", 404),
        ("DELETE /index.html", "", 405),
        ("GET /", "Host: localhost\r\n", 200),
        ("GET /", "Host: LAB.example:99\r\n", 200),
        ("GET /", "Host: rebound.example\r\n", 421),
        ("GET /", "Host: 127.0.0.1.rebound.example:80\r\n", 421),
        ("GET /", "Host: localhost\r\nHost: rebound.example\r\n", 421),
        ("GET /", "Host:\r\n", 421),
    ] {
        let answer = served.ask(line, heads, "");
        assert_eq!(answer.status, status, "{line} {heads}: {answer:?}");
        assert!(status == 200 || !answer.body.contains(&id), "{answer:?}");
    }
    let seen = served.end();
    assert!(seen.code == 0 && seen.stderr.lines().count() == 1, "{seen:?}");
    assert!(seen.stderr.contains("a request for an unknown host name client=127.0.0.1"), "{seen:?}");
}

#[test]
fn beyond_loopback_a_token_is_required() {
    let (bench, id) = with_a_run();
    let mut served = Served::listening(&bench, "0.0.0.0:0", &[]);
    let token = served.line().strip_prefix("token: ").unwrap().to_owned();
    assert!(token.len() == 32 && served.line().contains("ssh -L"));
    let run = format!("/runs/{id}.html");
    let paths = [
        "/",
        &run,
        "/live.js",
        &format!("/runs/{id}/events"),
        "/history/dummy.html",
        "/none.html",
        &format!("/?token={token}"),
    ];
    for path in paths {
        for heads in ["", "Authorization: Bearer wrong\r\n", "Cookie: netdyno=1; x\r\n"] {
            let answer = served.ask(&format!("GET {path}"), heads, "");
            assert_eq!(
                (answer.status, answer.body.contains(&id)),
                (401, false),
                "{path} {heads}: {answer:?}"
            );
            assert!(answer.body.contains("type=\"password\""), "{answer:?}");
        }
    }
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(served.ask(&format!("GET {run}"), &bearer, "").status, 200);
    assert_eq!(served.ask("GET /", &format!("{bearer}Host: rebound.example\r\n"), "").status, 421);

    for body in ["", "token=", "token=wrong", "other=x", &format!("x{token}"), &"x".repeat(1 << 20)] {
        let answer = served.ask("POST /login", "", body);
        assert!([401, 0].contains(&answer.status) && answer.head("set-cookie").is_none(), "{answer:?}");
    }
    let known = served.ask("POST /login", "", &format!("token={token}\r\n"));
    assert_eq!((known.status, known.head("location")), (303, Some("/")), "{known:?}");
    let cookie = known.head("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains(&token),
        "{cookie}"
    );
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(served.ask(&format!("GET {run}"), &cookie, "").status, 200);
    let seen = served.end();
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(!seen.stdout.contains(&token) && !seen.stderr.contains(&token), "printed once: {seen:?}");

    bench.write("token", "a-token-of-ones-own\n");
    let file = bench.path("token").display().to_string();
    let served = Served::start(&bench, &["--token-file", &file]);
    assert_eq!(served.get("/").status, 401, "on loopback, too, where there is a file");
    assert_eq!(served.ask("GET /", "Authorization: Bearer a-token-of-ones-own\r\n", "").status, 200);
    bench.write("token", "short");
    let seen = bench.netdyno(&["serve", "--listen", "127.0.0.1:0", "--token-file", &file]);
    assert!(seen.code == 2 && seen.stderr.contains("16 to 256"), "{seen:?}");
}

#[test]
fn endless_and_invalid_requests_are_ended() {
    let bench = Bench::new(&[]);
    let served = Served::start(&bench, &[]);
    let mut long = served.connect();
    let _ = long.write_all(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20)).as_bytes());
    let answer = Answer::of(long);
    assert!([0, 400, 431].contains(&answer.status), "{answer:?}");
    let mut many = served.connect();
    let _ = many.write_all(format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1000)).as_bytes());
    let answer = Answer::of(many);
    assert!([0, 400, 431].contains(&answer.status), "{answer:?}");
    let mut noise = served.connect();
    noise.write_all(b"\x16\x03\x01\x00\xff\r\n\r\n").unwrap();
    let answer = Answer::of(noise);
    assert!([0, 400].contains(&answer.status), "{answer:?}");
    // Silent clients are disconnected.
    let silent = served.connect();
    assert_eq!(Answer::of(silent).status, 0);
    assert_eq!(served.get("/").status, 200);
    // The connection limit is exact, and a freed connection can be reused.
    let mut idle: Vec<TcpStream> = (0..64).map(|_| served.connect()).collect();
    idle.truncate(32);
    assert_eq!(served.get("/").status, 200);
}

/// Otherwise it would wait until the time for their requests is over, and all would be closed.
#[test]
fn a_request_replaces_a_connection_that_waits_for_its_client() {
    let bench = Bench::new(&[]);
    // One client has as many as it can, or all are in use.
    for (silent, kept) in [(vec![1; 40], 15), ([2, 3, 4, 5].repeat(16), 63)] {
        let served = Served::start(&bench, &[]);
        let silent: Vec<_> = silent.into_iter().map(|client| served.connect_from(client)).collect();
        assert_eq!(served.get("/").status, 200);
        let is_open = |stream: &&TcpStream| {
            stream.set_nonblocking(true).unwrap();
            (&**stream).read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        assert_eq!(silent.iter().filter(is_open).count(), kept);
        let seen = served.end();
        assert!(seen.stderr.contains("too many connections: one that waited for its client"), "{seen:?}");
    }
}

#[test]
fn the_number_of_followers_is_limited() {
    let bench = Bench::new(&[("one", None)]);
    bench.add_held("held");
    let mut run = bench.command(&["run", "dummy", "--max-blocks", "9", "--time-limits", "10"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for_trials(&mut run, 1);
    let served = Served::start(&bench, &[]);
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    let follow = |client| {
        let mut stream = served.connect_from(client);
        write!(stream, "GET /runs/{id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let status = lines.next().unwrap();
        (status, lines)
    };
    let mut followers: Vec<_> = (0..8).map(|_| follow(1)).collect();
    assert_eq!(follow(1).0, "HTTP/1.1 503 Service Unavailable");
    followers.extend((0..8).map(|_| follow(2)));
    for (status, lines) in &mut followers {
        assert_eq!(status, "HTTP/1.1 200 OK");
        assert!(lines.any(|line| line == "event: state"));
        assert!(lines.any(|line| line.contains("Without results") || line.contains("Interim results")));
    }
    assert_eq!(follow(3).0, "HTTP/1.1 503 Service Unavailable");
    followers.truncate(8);
    // Closed connections are detected when the next event cannot be sent.
    bench.release();
    while follow(3).0 != "HTTP/1.1 200 OK" {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let (_, last) = followers.last_mut().unwrap();
    assert!(last.any(|line| line == "event: over"), "the run has ended");
    // An excess client is rejected immediately.
    assert!(follow(3).1.any(|line| line == "event: over"));
    assert_eq!(served.end().code, 0);
}

#[test]
fn startup_errors_name_their_cause() {
    let bench = Bench::new(&[]);
    let served = Served::start(&bench, &[]);
    let taken = bench.netdyno(&["serve", "--listen", &served.address]);
    assert!(
        taken.code == 2 && taken.stderr.contains(&served.address) && taken.stderr.contains("--listen"),
        "{taken:?}"
    );
    for address in ["localhost", "127.0.0.1", "x:1"] {
        let seen = bench.netdyno(&["serve", "--listen", address]);
        assert!(seen.code == 2 && seen.stderr.contains("ADDRESS:PORT"), "{seen:?}");
    }
    drop(served);
    let store = rusqlite::Connection::open(bench.path("store/runs.db")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let folder = bench.path("site").display().to_string();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["site", &folder], &["history"]] {
        let seen = bench.netdyno(arguments);
        assert!(
            seen.code == 2 && seen.stderr.contains("format 99") && seen.stderr.contains("NETDYNO_STORE"),
            "{seen:?}"
        );
    }
}

#[test]
fn a_site_is_written_and_updated() {
    let (bench, id) = with_a_run();
    bench.write("docs/studies/one.md", "# What one costs\n\ntext\n");
    let folder = bench.path("public").display().to_string();
    let seen = bench.netdyno(&["site", &folder]);
    assert!(seen.code == 0 && seen.stdout.contains("index.html: 5 pages, 5 written, 0 removed"), "{seen:?}");
    let index = std::fs::read_to_string(bench.path("public/index.html")).unwrap();
    assert!(
        index.contains(&format!("href=\"runs&#x2f;{id}.html\"")) && index.contains("What one costs"),
        "{index}"
    );
    let seen = bench.netdyno(&["site", &folder]);
    assert!(seen.stdout.contains("5 pages, 0 written, 0 removed"), "{seen:?}");
    std::fs::write(bench.path("public/index.html"), "mine").unwrap();
    let seen = bench.netdyno(&["site", &folder]);
    assert!(seen.code == 2 && seen.stderr.contains("not an unmodified file of netdyno site"), "{seen:?}");
}
