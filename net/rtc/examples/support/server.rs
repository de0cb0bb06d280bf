//! An endpoint that receives offers from an HTTP thread: the base of both browser examples.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use netdyno_rtc::{Endpoint, Error, Handler, Settings};

use crate::http::{self, Request, Response};

/// How long an HTTP request waits for its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The command-line options.
pub struct Options {
    /// Address of the page.
    pub http: SocketAddr,
    /// Local UDP address; port 0: any.
    pub udp: SocketAddr,
}

impl Options {
    /// Parses the command line. Prints `help` and exits if requested or if an option is invalid.
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
                eprintln!("{argument}: unknown option or invalid value\n\n{help}");
                std::process::exit(2);
            }
        }
        options
    }
}

/// An offer, with the channel for its answer.
type PendingOffer = (String, mpsc::SyncSender<Result<String, String>>);

/// Serves `page` and drives an endpoint with `handler`. Returns only with an error.
pub fn run(options: &Options, page: &'static str, handler: &mut impl Handler) -> Result<(), Error> {
    let mut settings = Settings::new()?;
    // Detect closed browser tabs soon.
    let mut peer = (*settings.peer).clone();
    peer.consent_timeout = Duration::from_secs(15);
    settings.peer = peer.into();
    let mut endpoint = Endpoint::bind(options.udp, settings)?;
    println!("data channels on {}", describe(endpoint.local_address()));

    let (requests, incoming) = mpsc::sync_channel::<PendingOffer>(64);
    let (http, waker) = (options.http, endpoint.waker());
    thread::spawn(move || {
        let answer = |offer: String| {
            let (reply, answer) = mpsc::sync_channel(1);
            requests.try_send((offer, reply)).map_err(|_| "server busy".to_owned())?;
            waker.wake();
            answer.recv_timeout(PATIENCE).map_err(|_| "server busy".to_owned())?
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
            // The browser may be gone.
            let _ = reply.send(answer.map(|(_, answer)| answer).map_err(|error| error.to_string()));
        }
    }
}

fn describe(address: SocketAddr) -> String {
    let everywhere = match address.ip() {
        IpAddr::V4(ip) => ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    };
    if everywhere {
        format!("UDP port {} on all addresses", address.port())
    } else {
        format!("UDP {address}")
    }
}
