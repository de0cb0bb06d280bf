//! Responses (RFC 2326 section 7).

use std::fmt::{Display, Write};

use super::status::Status;

/// A response without its `CSeq` and `Server` headers.
#[derive(Debug)]
pub(super) struct Response {
    status: Status,
    headers: String,
    body: String,
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        Self { status, headers: String::new(), body: String::new() }
    }
}

impl Response {
    /// 200 with a `Session` header.
    pub(super) fn ok(session: &impl Display) -> Self {
        Self::from(Status::Ok).with("Session", session)
    }

    pub(super) fn with(mut self, name: &str, value: impl Display) -> Self {
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    pub(super) fn with_body(self, body: String) -> Self {
        let length = body.len();
        Self { body, ..self }.with("Content-Length", length)
    }

    /// Appends the response to `out`. `cseq` is `None` if the request had no valid one.
    pub(super) fn write(&self, cseq: Option<u64>, server: &str, out: &mut Vec<u8>) {
        let cseq = cseq.map(|cseq| format!("CSeq: {cseq}\r\n")).unwrap_or_default();
        let (code, reason, headers) = (self.status.code(), self.status.reason(), &self.headers);
        let head = format!("RTSP/1.0 {code} {reason}\r\n{cseq}Server: {server}\r\n{headers}\r\n");
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(self.body.as_bytes());
    }
}
