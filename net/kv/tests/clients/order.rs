//! The table of replies that the core is tested against matches an installed Redis.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::skip;

#[path = "../../../../stacks/kv/tests/table/mod.rs"]
mod table;

/// Connection attempts.
const ATTEMPTS: u32 = 600;

struct Redis(Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a Redis 7.0 on a free port; `None` if it is not installed.
fn redis(port: u16) -> Option<Redis> {
    let version = Command::new("redis-server").arg("--version").output().ok()?;
    String::from_utf8_lossy(&version.stdout).contains("v=7.0.").then_some(())?;
    let mut server = Command::new("redis-server");
    server.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
    server.stdout(Stdio::null()).spawn().ok().map(Redis)
}

fn connect(port: u16) -> TcpStream {
    for _ in 0..ATTEMPTS {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            return stream;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("redis-server does not listen");
}

#[test]
fn the_table_matches_redis() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap().port();
    let Some(_redis) = redis(port) else { return skip("redis-server 7.0") };
    let mut stream = connect(port);
    for (command, answer) in table::rows(include_str!("../../../../stacks/kv/tests/order.txt")) {
        let words = table::words(command);
        let text: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        // Every reply ends with this echo.
        let request = format!("*{}\r\n{text}*2\r\n$4\r\nECHO\r\n$9\r\n--end--..\r\n", words.len());
        stream.write_all(request.as_bytes()).unwrap();
        let (mut answers, mut buffer) = (Vec::new(), [0; 4096]);
        while !answers.ends_with(b"$9\r\n--end--..\r\n") {
            let length = stream.read(&mut buffer).unwrap();
            assert_ne!(length, 0, "closed");
            answers.extend_from_slice(&buffer[..length]);
        }
        let mut elements = table::elements(&String::from_utf8(answers).unwrap());
        elements.pop();
        assert_eq!(elements, table::words(answer), "{command}");
    }
}
