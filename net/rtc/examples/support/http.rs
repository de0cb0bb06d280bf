//! A minimal HTTP/1.1 server for one page and the exchange of descriptions. It handles one request per
//! connection, with limits of size and time. For examples only.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Limit of request line and headers in bytes.
const MAX_HEAD_BYTES: u64 = 16 * 1024;
/// Limit of a body in bytes, enough for a description.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Time limit for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A request.
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: String,
}

/// A response.
pub struct Response {
    /// Status code and reason phrase.
    pub status: &'static str,
    pub content_type: &'static str,
    /// The Location header, for created resources.
    pub location: Option<String>,
    pub body: String,
}

impl Response {
    pub fn new(status: &'static str, content_type: &'static str, body: impl Into<String>) -> Self {
        Self { status, content_type, location: None, body: body.into() }
    }

    /// A 404 response.
    pub fn not_found() -> Self {
        Self::new("404 Not Found", "text/plain", "not found\n")
    }
}

/// Answers one request after the other. Returns only if the listening socket fails.
pub fn serve(listener: &TcpListener, mut respond: impl FnMut(Request) -> Response) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        // Errors of a client concern only that client.
        let _ = answer(Timed { stream, deadline: Instant::now() + TIMEOUT }, &mut respond);
    }
}

/// A stream with one deadline for all reads and writes, which limits clients that send byte by byte.
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
    let bad = "invalid or too long request\n";
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

/// `None` if the request is invalid or too long.
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
