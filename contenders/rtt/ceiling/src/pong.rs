//! Pong: polls its sockets and the background tasks.

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};

use netdyno_contender::rtt::{Echo, Pong, until_hang_up};

use crate::poller::Poller;
use crate::tasks::Tasks;
use crate::wire::{Wire, done};

pub fn over_udp(pong: &'static Pong) -> io::Result<()> {
    let socket = UdpSocket::bind(pong.job.local())?;
    socket.set_nonblocking(true)?;
    pong.bound(socket.local_addr()?);
    let (mut echo, mut tasks) = (pong.echo(0), Tasks::new(&pong.job));
    let mut buffer = vec![0; pong.job.buffer_bytes()];
    loop {
        if let Some((length, from)) = done(socket.recv_from(&mut buffer))? {
            let message = &buffer[..length];
            echo.answer(message);
            // If the socket buffer is full, the datagram is lost, which UDP allows.
            done(socket.send_to(message, from))?;
        }
        tasks.run();
    }
}

pub fn over_tcp(pong: &'static Pong) -> io::Result<()> {
    let listener = TcpListener::bind(pong.job.local())?;
    listener.set_nonblocking(true)?;
    pong.bound(listener.local_addr()?);
    let mut tasks = Tasks::new(&pong.job);
    let mut streams = Streams {
        pong,
        listener,
        poller: Poller::new(pong.job.outstanding)?,
        connections: Vec::with_capacity(pong.job.outstanding),
        sending: 0,
    };
    loop {
        streams.pass()?;
        tasks.run();
    }
}

struct Connection {
    wire: Wire<TcpStream>,
    echo: Echo,
}

struct Streams {
    pong: &'static Pong,
    listener: TcpListener,
    poller: Poller,
    /// `None` if ping has closed the connection.
    connections: Vec<Option<Connection>>,
    /// Connections whose socket buffer was too full for a whole echo.
    sending: usize,
}

impl Streams {
    fn pass(&mut self) -> io::Result<()> {
        // Stops when all lanes are connected.
        if self.connections.len() < self.pong.job.outstanding {
            self.accept()?;
        }
        if self.sending > 0 {
            for i in 0..self.connections.len() {
                self.resume(i)?;
            }
        }
        for place in 0..self.poller.ask()? {
            self.try_echo(self.poller.number(place))?;
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let Some((stream, _)) = done(self.listener.accept())? else { return Ok(()) };
        stream.set_nodelay(true)?;
        let echo = self.pong.echo(self.connections.len());
        let wire = Wire::new(stream, self.pong.job.message_bytes)?;
        self.poller.add(wire.socket())?;
        self.connections.push(Some(Connection { wire, echo }));
        Ok(())
    }

    fn try_echo(&mut self, i: usize) -> io::Result<()> {
        let Some(Connection { wire, echo }) = &mut self.connections[i] else { return Ok(()) };
        // Pauses reading until the echo is sent.
        if wire.sending {
            return Ok(());
        }
        match wire.receive() {
            Ok(None) => Ok(()),
            Ok(Some(message)) => {
                echo.answer(message);
                self.send(i)
            }
            Err(error) => self.end(i, error),
        }
    }

    fn resume(&mut self, i: usize) -> io::Result<()> {
        let sending = self.connections[i].as_ref().is_some_and(|connection| connection.wire.sending);
        if sending { self.send(i) } else { Ok(()) }
    }

    fn send(&mut self, i: usize) -> io::Result<()> {
        let Some(Connection { wire, .. }) = &mut self.connections[i] else { return Ok(()) };
        self.sending -= usize::from(wire.sending);
        match wire.send_back() {
            Ok(()) => {
                self.sending += usize::from(wire.sending);
                Ok(())
            }
            Err(error) => self.end(i, error),
        }
    }

    /// Handles an error. A connection that ping has closed does not end pong.
    fn end(&mut self, i: usize, error: io::Error) -> io::Result<()> {
        self.connections[i] = None;
        until_hang_up(Err(error))
    }
}
