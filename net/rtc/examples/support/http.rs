//! As much HTTP/1.1 as it takes to serve one page and to exchange descriptions. One request a connection, and each
//! has a bound and a time limit. For examples; a real server has its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of request line and headers.
const MAX_HEAD_BYTES: u64 = 16 * 1024;
/// Bytes of a body: a description.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Longest time for a request and its answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Serves `page` at `/`, and what `post` makes of the body at POST `/offer`. Never returns, but for an error of the
/// listening socket.
pub fn serve(
    address: SocketAddr,
    page: &str,
    mut post: impl FnMut(&str) -> Result<String, String>,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("open http://{} in a browser", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept()?;
        // A client that errs is its own problem.
        let _ = answer(Timed { stream, deadline: Instant::now() + TIMEOUT }, page, &mut post);
    }
}

/// One deadline for all reads and writes: a client that sends byte by byte holds up the others no longer.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(
    mut stream: Timed,
    page: &str,
    post: &mut impl FnMut(&str) -> Result<String, String>,
) -> io::Result<()> {
    let (status, kind, body) = match read(&mut stream)? {
        Some((line, _)) if line.starts_with("GET / ") => ("200 OK", "text/html", page.to_owned()),
        Some((line, body)) if line.starts_with("POST /offer ") => match post(&body) {
            Ok(answer) => ("200 OK", "application/sdp", answer),
            Err(reason) => ("400 Bad Request", "text/plain", reason),
        },
        Some(_) => ("404 Not Found", "text/plain", "there is nothing here\n".to_owned()),
        None => ("400 Bad Request", "text/plain", "this is not a request, or it is too long\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Request line and body; `None` if it is too long, or none.
fn read(stream: &mut Timed) -> io::Result<Option<(String, String)>> {
    let mut reader = BufReader::new(stream.take(MAX_HEAD_BYTES));
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(usize::MAX);
        }
    }
    if length > MAX_BODY_BYTES {
        return Ok(None);
    }
    let mut body = vec![0; length];
    reader.get_mut().set_limit(length as u64);
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8(body).ok().map(|body| (request, body)))
}
