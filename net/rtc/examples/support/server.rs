//! An endpoint that takes offers from another thread: what both browser examples are built on.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use netdyno_rtc::{Endpoint, Error, Handler, Settings};

use crate::http::{self, Request, Response};

/// How long a browser waits for its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the command line says.
pub struct Options {
    /// Where the page is served.
    pub http: SocketAddr,
    /// Where datagrams come in; port 0: any.
    pub udp: SocketAddr,
}

impl Options {
    /// Reads the command line; prints `help` and exits if asked to, or if it cannot be read.
    pub fn read(help: &str) -> Self {
        let mut options = Self { http: ([127, 0, 0, 1], 8080).into(), udp: ([127, 0, 0, 1], 0).into() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = match argument.as_str() {
                "--http" => {
                    arguments.next().and_then(|value| value.parse().ok()).map(|value| options.http = value)
                }
                "--udp" => {
                    arguments.next().and_then(|value| value.parse().ok()).map(|value| options.udp = value)
                }
                "-h" | "--help" => {
                    println!("{help}");
                    std::process::exit(0);
                }
                _ => None,
            };
            if value.is_none() {
                eprintln!("{argument}: not understood\n\n{help}");
                std::process::exit(2);
            }
        }
        options
    }
}

/// An offer, and where its answer goes.
type Asked = (String, mpsc::SyncSender<Result<String, String>>);

/// Serves `page`, and drives an endpoint whose connections `handler` deals with. Returns only with an error.
pub fn run(options: &Options, page: &'static str, handler: &mut impl Handler) -> Result<(), Error> {
    let mut settings = Settings::new()?;
    // A browser tab that is closed without a word is gone soon.
    let mut peer = (*settings.peer).clone();
    peer.consent_timeout = Duration::from_secs(15);
    settings.peer = peer.into();
    let mut endpoint = Endpoint::bind(options.udp, settings)?;
    println!("data channels on {}", shown(endpoint.local_address()));

    let (requests, incoming) = mpsc::sync_channel::<Asked>(64);
    let (http, waker) = (options.http, endpoint.waker());
    thread::spawn(move || {
        let answer = |offer: String| {
            let (reply, answer) = mpsc::sync_channel(1);
            requests.try_send((offer, reply)).map_err(|_| "too busy".to_owned())?;
            waker.wake();
            answer.recv_timeout(PATIENCE).map_err(|_| "too busy".to_owned())?
        };
        let respond = |request: Request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => Response::new("200 OK", "text/html", page),
            ("POST", "/offer") => match answer(request.body) {
                Ok(answer) => Response::new("200 OK", "application/sdp", answer),
                Err(reason) => Response::new("400 Bad Request", "text/plain", reason),
            },
            _ => Response::not_found(),
        };
        let served = TcpListener::bind(http).and_then(|listener| {
            println!("open http://{} in a browser", listener.local_addr()?);
            http::serve(&listener, respond)
        });
        if let Err(error) = served {
            eprintln!("{http}: {error}");
            std::process::exit(1);
        }
    });

    loop {
        endpoint.poll(None, handler)?;
        while let Ok((offer, reply)) = incoming.try_recv() {
            let answer = endpoint.answer(&offer);
            // The browser may have gone.
            let _ = reply.send(answer.map(|(_, answer)| answer).map_err(|error| error.to_string()));
        }
    }
}

fn shown(address: SocketAddr) -> String {
    let everywhere = match address.ip() {
        IpAddr::V4(ip) => ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    };
    if everywhere {
        format!("UDP port {} of all addresses", address.port())
    } else {
        format!("UDP {address}")
    }
}
