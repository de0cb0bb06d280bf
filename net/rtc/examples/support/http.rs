//! As much HTTP/1.1 as it takes to serve one page and to exchange descriptions. One request a connection, and each
//! has a bound and a time limit. For examples; a real server has its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of request line and headers.
const MAX_HEAD_BYTES: u64 = 16 * 1024;
/// Bytes of a body: a description.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Longest time for a request and its answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is asked for.
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: String,
}

/// What comes of it.
pub struct Response {
    /// Number and words.
    pub status: &'static str,
    pub content_type: &'static str,
    /// Where what was made is found.
    pub location: Option<String>,
    pub body: String,
}

impl Response {
    pub fn new(status: &'static str, content_type: &'static str, body: impl Into<String>) -> Self {
        Self { status, content_type, location: None, body: body.into() }
    }

    /// For what is not there.
    pub fn not_found() -> Self {
        Self::new("404 Not Found", "text/plain", "there is nothing here\n")
    }
}

/// Answers one request after the other. Never returns, but for an error of the listening socket.
pub fn serve(listener: &TcpListener, mut respond: impl FnMut(Request) -> Response) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        // A client that errs is its own problem.
        let _ = answer(Timed { stream, deadline: Instant::now() + TIMEOUT }, &mut respond);
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

fn answer(mut stream: Timed, respond: &mut impl FnMut(Request) -> Response) -> io::Result<()> {
    let bad = "this is not a request, or it is too long\n";
    let response = match read(&mut stream)? {
        Some(request) => respond(request),
        None => Response::new("400 Bad Request", "text/plain", bad),
    };
    let Response { status, content_type, location, body } = response;
    let location = location.map(|location| format!("Location: {location}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}; charset=utf-8\r\nContent-Length: {length}\r\n\
         {location}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// `None` if it is too long, or none.
fn read(stream: &mut Timed) -> io::Result<Option<Request>> {
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
    let mut words = request.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    Ok(String::from_utf8(body).ok().map(|body| Request { method, path, body }))
}
