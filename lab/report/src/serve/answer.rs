//! From a request to its answer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Semaphore;

use super::follow::{Followed, events};
use super::{Settings, guard, limits};
use crate::pages::{self, Address, PageError, Pages, Studies};
use netdyno_lab_store::Store;

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// For what a page may load and who may show it; its own policy in it says more. Nothing here may be guessed to be another kind, be
/// kept by a cache, or tell where the reader came from.
const HEADS: [(header::HeaderName, &str); 6] = [
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

/// What answers.
pub(super) struct Answering {
    settings: Settings,
    /// Cookies know no ports: two servers on one machine must not share one.
    cookie: String,
    followers: Arc<Semaphore>,
    followed: Followed,
}

impl Answering {
    pub(super) fn new(settings: Settings, port: u16) -> Answering {
        let followed = Followed::new(settings.store.clone());
        let followers = Arc::new(Semaphore::new(limits::FOLLOWERS_MAX));
        Answering { settings, cookie: format!("netdyno-{port}"), followers, followed }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, follows: &AtomicBool) -> Response<Body> {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        if !self.is_for_us(request.headers()) {
            let text = "This server answers to its address and to localhost. Other names are told to it: netdyno serve --name NAME";
            return notice(StatusCode::MISDIRECTED_REQUEST, "Another name", text, false);
        }
        match (request.method(), path.as_str()) {
            (&Method::POST, "login") => return self.log_in(request).await,
            (&Method::GET | &Method::HEAD, _) => {}
            _ => {
                let mut answer =
                    notice(StatusCode::METHOD_NOT_ALLOWED, "Pages are read, not written", "", false);
                answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
                return answer;
            }
        }
        if !self.may_read(request.headers()) {
            return asks(
                "The token was printed when the server was started, or stands in the file that it was started with.",
            );
        }
        if path == "live.js" {
            return plain(
                StatusCode::OK,
                "text/javascript; charset=utf-8",
                pages::LIVE_SCRIPT.as_bytes().to_vec(),
            );
        }
        if let Some(run) = path.strip_prefix("runs/").and_then(|rest| rest.strip_suffix("/events")) {
            return self.follow(run, follows);
        }
        match Address::parse(&path) {
            Some(address) => self.page(address).await,
            None => not_found(),
        }
    }

    fn is_for_us(&self, heads: &HeaderMap) -> bool {
        let mut hosts = heads.get_all(header::HOST).iter();
        match (hosts.next().and_then(|h| h.to_str().ok()), hosts.next()) {
            (Some(host), None) => guard::is_our_name(host, &self.settings.names),
            _ => false,
        }
    }

    fn may_read(&self, heads: &HeaderMap) -> bool {
        let text = |name| heads.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let token = self.settings.token.as_ref();
        token.is_none_or(|t| t.is_in(text(header::AUTHORIZATION), text(header::COOKIE), &self.cookie))
    }

    /// The form: whoever knows the token gets a cookie, and the first page.
    async fn log_in(&self, request: Request<Incoming>) -> Response<Body> {
        let Some(token) = &self.settings.token else { return not_found() };
        let body = Limited::new(request.into_body(), limits::FORM_BYTES_MAX).collect().await;
        let body = body.map(|b| b.to_bytes()).unwrap_or_default();
        let text = std::str::from_utf8(&body).unwrap_or_default();
        if !text.strip_prefix("token=").is_some_and(|text| token.is(text)) {
            return asks("That was not the token.");
        }
        let mut answer = plain(StatusCode::SEE_OTHER, "text/plain", Vec::new());
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Lax", self.cookie, token.cookie());
        let heads = answer.headers_mut();
        heads.insert(header::LOCATION, HeaderValue::from_static("/"));
        heads.insert(
            header::SET_COOKIE,
            HeaderValue::from_str(&cookie).expect("digits and letters are a head"),
        );
        answer
    }

    async fn page(&self, address: Address) -> Response<Body> {
        let (store, studies) = (self.settings.store.clone(), self.settings.studies.clone());
        let name = address.path();
        let made = tokio::task::spawn_blocking(move || page(&store, studies.as_ref(), &address)).await;
        match made {
            Ok(Ok(Some(text))) => plain(StatusCode::OK, "text/html; charset=utf-8", text.into_bytes()),
            Ok(Ok(None)) => not_found(),
            Ok(Err(error)) => {
                tracing::warn!(page = name, %error, "a page cannot be made");
                notice(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "This page cannot be made",
                    &error.to_string(),
                    false,
                )
            }
            Err(error) => {
                tracing::error!(page = name, %error, "the program failed at a page");
                let text = "netdyno failed at it: please report that, with what it printed.";
                notice(StatusCode::INTERNAL_SERVER_ERROR, "This page cannot be made", text, false)
            }
        }
    }

    fn follow(&self, run: &str, follows: &AtomicBool) -> Response<Body> {
        if !pages::is_name(run) {
            return not_found();
        }
        let Ok(place) = Arc::clone(&self.followers).try_acquire_owned() else {
            let text = "So many follow runs already that there is no place left.";
            return notice(StatusCode::SERVICE_UNAVAILABLE, "No place", text, false);
        };
        follows.store(true, Ordering::Relaxed);
        let stream = events(self.followed.follow(run), place);
        let body =
            StreamBody::new(futures_util::StreamExt::map(stream, |text| Ok(Frame::data(Bytes::from(text)))));
        answer(StatusCode::OK, "text/event-stream", BodyExt::boxed_unsync(body))
    }
}

fn page(store: &Path, studies: Option<&Studies>, address: &Address) -> Result<Option<String>, PageError> {
    let store = Store::open(store)?;
    Pages { store: &store, studies, with_page: None, is_served: true }.page(address)
}

fn not_found() -> Response<Body> {
    notice(StatusCode::NOT_FOUND, "There is no such page", "The run may have been pruned.", false)
}

/// Asks for the token.
fn asks(text: &str) -> Response<Body> {
    let mut answer = notice(StatusCode::UNAUTHORIZED, "These runs are not for everybody", text, true);
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn notice(status: StatusCode, title: &str, text: &str, asks_for_token: bool) -> Response<Body> {
    let page = pages::notice(title, text, asks_for_token).unwrap_or_else(|error| error.to_string());
    plain(status, "text/html; charset=utf-8", page.into_bytes())
}

fn plain(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Body> {
    answer(status, kind, Full::new(Bytes::from(body)).boxed_unsync())
}

fn answer(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let heads = answer.headers_mut();
    heads.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADS {
        heads.insert(name, HeaderValue::from_static(value));
    }
    answer
}
