//! Pong: returns the messages of sockets that `Poll` reports.

use std::io::{self, ErrorKind};
use std::mem::take;

use mio::net::{TcpListener, UdpSocket};
use mio::{Events, Interest, Poll, Registry, Token};
use netdyno_contender::rtt::{Echo, Pong, until_hang_up};

use crate::EVENTS;
use crate::link::{Answering, Link, Socket};

/// A socket and the unsent part of its last received message.
struct Answer<S> {
    link: Link<S>,
    echo: Echo,
    length: usize,
}

impl<S: Socket> Answer<S> {
    /// Returns messages until no message is pending or the socket buffer is full.
    fn handle(&mut self, registry: &Registry) -> io::Result<()> {
        if self.link.blocked {
            self.link.resume_back(self.length, registry)?;
        }
        while !self.link.blocked {
            let Some(message) = self.link.receive()? else { break };
            self.echo.answer(message);
            self.length = message.len();
            self.link.send_back(self.length, registry)?;
        }
        Ok(())
    }
}

pub fn over_udp(pong: &'static Pong, mut poll: Poll) -> io::Result<()> {
    let socket = UdpSocket::bind(pong.job.local())?;
    pong.bound(socket.local_addr()?);
    let link = Link::new(Answering::new(socket)?, Token(0), pong.job.buffer_bytes(), poll.registry())?;
    let mut answer = Answer { link, echo: pong.echo(0), length: 0 };
    let mut events = Events::with_capacity(EVENTS);
    loop {
        wait(&mut poll, &mut events)?;
        answer.handle(poll.registry())?;
    }
}

pub fn over_tcp(pong: &'static Pong, mut poll: Poll) -> io::Result<()> {
    let lanes = pong.job.outstanding;
    let listening = Token(lanes);
    let mut listener = TcpListener::bind(pong.job.local())?;
    pong.bound(listener.local_addr()?);
    poll.registry().register(&mut listener, listening, Interest::READABLE)?;
    let mut answers: Vec<Option<Answer<_>>> = Vec::with_capacity(lanes);
    let mut events = Events::with_capacity(EVENTS);
    loop {
        wait(&mut poll, &mut events)?;
        for event in &events {
            if event.token() == listening {
                accept(pong, &listener, &mut answers, poll.registry())?;
                continue;
            }
            let place = &mut answers[event.token().0];
            let Some(answer) = place else { continue };
            if let Err(error) = answer.handle(poll.registry()) {
                take(place);
                until_hang_up(Err(error))?;
            }
        }
    }
}

/// Accepts all pending connections, up to one per lane.
fn accept(
    pong: &'static Pong,
    listener: &TcpListener,
    answers: &mut Vec<Option<Answer<mio::net::TcpStream>>>,
    registry: &Registry,
) -> io::Result<()> {
    while answers.len() < pong.job.outstanding {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let i = answers.len();
        let link = Link::new(stream, Token(i), pong.job.buffer_bytes(), registry)?;
        answers.push(Some(Answer { link, echo: pong.echo(i), length: 0 }));
    }
    Ok(())
}

fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, None) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        done => done,
    }
}
