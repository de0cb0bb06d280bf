//! The types that the blocking and the Tokio interface have in common.

/// Defines `Endpoint`, `PeerConnection` and `DataChannel` for one interface.
///
/// The interfaces differ in what drives an endpoint (`launch`), in the function that waits for a poll
/// function of [`Peer`](super::Peer) or [`Channel`](super::Channel) to be ready (`wait`), and in whether
/// methods are async. Methods of one interface only, such as those with time limits, are in its own module.
macro_rules! interface {
    (launch: $launch:path, wait: $wait:path, async: [$($async:tt)?], await: [$($await:tt)*]) => {
        use std::net::SocketAddr;
        use std::ops::Deref;

        use netdyno_rtc_core::{ChannelOptions, Kind, Message, PeerState, SendError};

        use $crate::engine::Port;
        use $crate::error::{Error, RecvError};
        use $crate::handle::{Channel, Driver, Hub, Peer};
        use $crate::reactor_set::Drivers;
        use $crate::settings::Settings;

        /// One UDP port, or one for each reactor ([`Settings::reactors`]), for any number of connections, and
        /// whatever drives them. It ends when its last clone, its last connection and its last channel are
        /// dropped.
        #[derive(Debug, Clone)]
        pub struct Endpoint {
            drivers: Drivers<Driver>,
        }

        impl Endpoint {
            /// Binds the UDP port (0: the kernel chooses one) and starts the drivers. The Tokio interface
            /// must be bound within a runtime whose I/O and time drivers are enabled.
            pub fn bind(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
                let start = |address, settings: Settings, member| {
                    Hub::start($launch(&settings)?, address, settings, member)
                };
                Ok(Self { drivers: Drivers::start(address, &settings, start)? })
            }

            /// The bound address; with several reactors, that of the first.
            pub fn local_address(&self) -> SocketAddr {
                self.drivers.all()[0].hub().local_address()
            }

            /// The bound addresses of all reactors.
            pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> {
                self.drivers.all().iter().map(|driver| driver.hub().local_address())
            }
        }

        /// A peer connection. Methods that do not wait are those of [`Peer`].
        #[derive(Debug, Clone)]
        pub struct PeerConnection {
            peer: Peer,
        }

        impl Deref for PeerConnection {
            type Target = Peer;

            fn deref(&self) -> &Peer {
                &self.peer
            }
        }

        impl PeerConnection {
            /// Creates a connection on the endpoint's port.
            pub fn new(endpoint: &Endpoint) -> Result<Self, Error> {
                Self::on(endpoint, Port::Shared)
            }

            /// Creates a connection on the endpoint's port or on a separate port.
            pub fn on(endpoint: &Endpoint, port: Port) -> Result<Self, Error> {
                let driver = endpoint.drivers.least_loaded();
                Ok(Self { peer: Peer::new(driver.hub().clone(), driver, port)? })
            }

            /// Creates a data channel. `send` waits until it is open.
            pub fn create_channel(&self, label: &str, options: ChannelOptions) -> Result<DataChannel, Error> {
                Ok(DataChannel { channel: self.peer.open_channel(label, options)? })
            }

            /// Waits for the next data channel that the peer opens. Up to 1,024 channels wait to be accepted;
            /// further ones are closed.
            pub $($async)? fn accept_channel(&self) -> Result<DataChannel, Error> {
                let channel = $wait(|wait| self.peer.poll_channel(wait))$($await)*?;
                Ok(DataChannel { channel })
            }

            /// Waits for the next local candidate found since the first description, to be passed to the
            /// peer's [`add_remote_candidate`](Peer::add_remote_candidate). `None`: gathering is complete.
            pub $($async)? fn next_candidate(&self) -> Option<String> {
                $wait(|wait| self.peer.poll_candidate(wait))$($await)*
            }

            /// Waits until the connection is established. Returns an error if it fails, even if an ICE
            /// restart may still recover it.
            pub $($async)? fn wait_connected(&self) -> Result<(), Error> {
                $wait(|wait| self.peer.poll_connected(wait))$($await)*
            }

            /// Waits until the state differs from `last` and returns it. Returns at once if the connection is
            /// [over](Peer::is_over). States that come and go between two calls are not reported.
            ///
            /// Use it to detect `Disconnected` and `Failed`, call [`restart_ice`](Peer::restart_ice), and
            /// wait for `Connected`.
            pub $($async)? fn wait_state(&self, last: PeerState) -> PeerState {
                $wait(|wait| self.peer.poll_state(wait, last))$($await)*
            }

            /// Waits until the connection is over; returns an error if it failed. A connection that lost its
            /// path is over when the time allowed for a restart has passed
            /// ([`Config::restart_timeout`](crate::Config::restart_timeout)).
            pub $($async)? fn wait_closed(&self) -> Result<(), Error> {
                $wait(|wait| self.peer.poll_over(wait))$($await)*
            }
        }

        /// A data channel. Methods that do not wait are those of [`Channel`].
        #[derive(Debug, Clone)]
        pub struct DataChannel {
            channel: Channel,
        }

        impl Deref for DataChannel {
            type Target = Channel;

            fn deref(&self) -> &Channel {
                &self.channel
            }
        }

        impl DataChannel {
            /// Waits until the channel is open; returns `Closed` or `Failed` if it never will be.
            pub $($async)? fn wait_open(&self) -> Result<(), SendError> {
                $wait(|wait| self.channel.poll_open(wait))$($await)*
            }

            /// Sends a binary message; waits for space in the send buffer.
            pub $($async)? fn send(&self, data: &[u8]) -> Result<(), SendError> {
                self.send_many(Kind::Binary, &[data])$($await)*
            }

            /// Sends a text message; waits for space in the send buffer.
            pub $($async)? fn send_text(&self, text: &str) -> Result<(), SendError> {
                self.send_many(Kind::Text, &[text.as_bytes()])$($await)*
            }

            /// Sends all messages; waits for space in the send buffer. Messages that fit are queued under one
            /// lock.
            pub $($async)? fn send_many(&self, kind: Kind, messages: &[impl AsRef<[u8]>]) -> Result<(), SendError> {
                let mut rest = messages;
                while !rest.is_empty() {
                    let sent = $wait(|wait| self.channel.poll_send_many(wait, kind, rest))$($await)*?;
                    rest = &rest[sent..];
                }
                Ok(())
            }

            /// Waits for the next message.
            pub $($async)? fn recv(&self) -> Result<Message, RecvError> {
                $wait(|wait| self.channel.poll_recv(wait))$($await)*
            }

            /// Waits for a message, then appends up to `max` available messages. Returns their number.
            pub $($async)? fn recv_many(&self, messages: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
                $wait(|wait| self.channel.poll_recv_many(Some(wait), messages, max))$($await)*
            }

            /// Waits until at most `bytes` are buffered; returns `Closed` or `Failed` if the channel is over.
            pub $($async)? fn wait_buffered_below(&self, bytes: usize) -> Result<(), SendError> {
                $wait(|wait| self.channel.poll_buffered(wait, bytes))$($await)*
            }

            /// Waits until either side has closed the channel. After a local close, success means that
            /// everything was delivered. Returns an error if the connection ended before that was known.
            pub $($async)? fn wait_closed(&self) -> Result<(), Error> {
                $wait(|wait| self.channel.poll_closed(wait))$($await)*
            }
        }
    };
}
pub(crate) use interface;
