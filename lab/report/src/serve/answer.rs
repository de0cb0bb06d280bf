//! Responses to HTTP requests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::follow::{Followed, events};
use super::permits::Permits;
use super::reports::Reports;
use super::state::ConnectionState;
use super::{ServerSettings, guard, limits};
use crate::pages::{self, Address, PageError, Pages, Studies};
use netdyno_lab_store::Store;

pub(super) type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// Security headers of every response. They restrict what a page may load and which sites may frame it, and
/// forbid content sniffing, caching and referrers. The policy within a page is stricter.
const SECURITY_HEADERS: [(header::HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Answers requests.
pub(super) struct Responder {
    settings: ServerSettings,
    /// Name of the cookie. It contains the port, because cookies are shared by all ports of a host.
    cookie: String,
    followers: Arc<Permits>,
    followed: Followed,
    /// Threads that render pages.
    renderers: Arc<Permits>,
    reports: Arc<Reports>,
}

impl Responder {
    pub(super) fn new(settings: ServerSettings, port: u16, reports: Arc<Reports>) -> Responder {
        let renderers = Permits::new(limits::PAGES_AT_ONCE, limits::PAGES_PER_CLIENT_AT_ONCE);
        let followed = Followed::new(settings.store.clone(), Arc::clone(&renderers));
        let followers = Permits::new(limits::FOLLOWERS_MAX, limits::FOLLOWERS_PER_CLIENT_MAX);
        Responder { settings, cookie: format!("netdyno-{port}"), followers, followed, renderers, reports }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, state: &ConnectionState) -> Response<Body> {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        if !self.has_accepted_host(request.headers()) {
            self.reports.report(state.client, "a request for an unknown host name");
            let text = "This server accepts requests for its address and for localhost. To allow another host name: netdyno serve --name NAME";
            return notice(StatusCode::MISDIRECTED_REQUEST, "Unknown host name", text, false);
        }
        match (request.method(), path.as_str()) {
            (&Method::POST, "login") => return self.log_in(request, state).await,
            (&Method::GET | &Method::HEAD, _) => {}
            _ => {
                let mut answer = notice(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", "", false);
                answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
                return answer;
            }
        }
        if !self.may_read(request.headers()) {
            if request.headers().contains_key(header::AUTHORIZATION) {
                self.reports.report(state.client, "a wrong token");
            }
            return unauthorized(
                "Enter the token that the server printed at startup, or that its token file contains.",
            );
        }
        if path == "live.js" {
            let script = pages::LIVE_SCRIPT.as_bytes().to_vec();
            return plain(StatusCode::OK, "text/javascript; charset=utf-8", script);
        }
        if let Some(run) = path.strip_prefix("runs/").and_then(|rest| rest.strip_suffix("/events")) {
            return self.follow(run, state);
        }
        match Address::parse(&path) {
            Some(address) => {
                state.is_rendering.store(true, Ordering::Relaxed);
                let answer = self.page(address, state).await;
                state.is_rendering.store(false, Ordering::Relaxed);
                answer
            }
            None => not_found(),
        }
    }

    fn has_accepted_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        match (hosts.next().and_then(|h| h.to_str().ok()), hosts.next()) {
            (Some(host), None) => guard::is_accepted_host(host, &self.settings.names),
            _ => false,
        }
    }

    fn may_read(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let token = self.settings.token.as_ref();
        token.is_none_or(|t| t.is_presented(text(header::AUTHORIZATION), text(header::COOKIE), &self.cookie))
    }

    /// Handles the token form: sets the cookie and redirects to the index if the token is correct.
    async fn log_in(&self, request: Request<Incoming>, state: &ConnectionState) -> Response<Body> {
        let Some(token) = &self.settings.token else { return not_found() };
        let body = Limited::new(request.into_body(), limits::FORM_BYTES_MAX).collect().await;
        let body = body.map(|b| b.to_bytes()).unwrap_or_default();
        let text = std::str::from_utf8(&body).unwrap_or_default();
        if !text.strip_prefix("token=").is_some_and(|text| token.matches(text)) {
            self.reports.report(state.client, "a wrong token");
            return unauthorized("Wrong token.");
        }
        let mut answer = plain(StatusCode::SEE_OTHER, "text/plain", Vec::new());
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Lax", self.cookie, token.cookie());
        let headers = answer.headers_mut();
        headers.insert(header::LOCATION, HeaderValue::from_static("/"));
        headers.insert(header::SET_COOKIE, HeaderValue::from_str(&cookie).expect("the cookie is ASCII"));
        answer
    }

    async fn page(&self, address: Address, state: &ConnectionState) -> Response<Body> {
        let (store, studies) = (self.settings.store.clone(), self.settings.studies.clone());
        let name = address.path();
        let permit = self.renderers.acquire(state.client).await;
        // The task outlives its connection, and so does the permit.
        let task = tokio::task::spawn_blocking(move || {
            let result = page(&store, studies.as_ref(), &address);
            drop(permit);
            result
        });
        let result = task.await;
        let failed = |text: &str| {
            notice(StatusCode::INTERNAL_SERVER_ERROR, "This page could not be rendered", text, false)
        };
        match result {
            Ok(Ok(Some(text))) => plain(StatusCode::OK, "text/html; charset=utf-8", text.into_bytes()),
            Ok(Ok(None)) => not_found(),
            Ok(Err(error)) => {
                tracing::warn!(page = name, %error, "a page could not be rendered");
                failed(&error.to_string())
            }
            Err(error) => {
                tracing::error!(page = name, %error, "rendering a page panicked");
                failed("This is a bug in netdyno. Please report it with the output of the server.")
            }
        }
    }

    fn follow(&self, run: &str, state: &ConnectionState) -> Response<Body> {
        if !pages::is_name(run) {
            return not_found();
        }
        let Some(permit) = self.followers.try_acquire(state.client) else {
            self.reports.report(state.client, "too many clients follow runs: one was refused");
            let text = "Too many clients follow runs. Try again later.";
            return notice(StatusCode::SERVICE_UNAVAILABLE, "Too many followers", text, false);
        };
        state.is_follower.store(true, Ordering::Relaxed);
        let stream = events(self.followed.follow(run), permit);
        let body =
            StreamBody::new(futures_util::StreamExt::map(stream, |text| Ok(Frame::data(Bytes::from(text)))));
        response(StatusCode::OK, "text/event-stream", BodyExt::boxed_unsync(body))
    }
}

fn page(store: &Path, studies: Option<&Studies>, address: &Address) -> Result<Option<String>, PageError> {
    let store = Store::open(store)?;
    Pages { store: &store, studies, with_page: None, is_served: true }.page(address)
}

fn not_found() -> Response<Body> {
    notice(StatusCode::NOT_FOUND, "Page not found", "The run may have been pruned.", false)
}

/// A response with the token form.
fn unauthorized(text: &str) -> Response<Body> {
    let mut answer = notice(StatusCode::UNAUTHORIZED, "Token required", text, true);
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn notice(status: StatusCode, title: &str, text: &str, asks_for_token: bool) -> Response<Body> {
    let page = pages::notice(title, text, asks_for_token).unwrap_or_else(|error| error.to_string());
    plain(status, "text/html; charset=utf-8", page.into_bytes())
}

fn plain(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    response(status, kind, Full::new(Bytes::from(body)).boxed_unsync())
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}
