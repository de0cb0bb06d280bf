//! Both roles of the `mjpeg` workload, so that an adapter holds its library's calls and little else.
//!
//! | does | does not |
//! |---|---|
//! | read the clip a frame at a time, and say when the next one is due ([`Walk`]) | open a socket, or write or read a packet |
//! | compare each picture with the clip, and count ([`Inbox`]) | decode or encode |
//! | answer the lab | choose a runtime |
//!
//! A sender: [`Sender::await_port`], create the library's sender, [`Sender::connected`]. Then for ever:
//!
//! ```no_run
//! # use netdyno_contender::mjpeg::Sender;
//! # fn send(_: &[u8]) {}
//! # fn example(sender: &'static Sender) {
//! let mut walk = sender.walk();
//! let mut jpeg = Vec::new();
//! while walk.next(&mut jpeg) {
//!     walk.await_due(); // where the library does not pace frames itself, by walk.interval()
//!     send(&jpeg);
//!     walk.sent(&jpeg);
//! }
//! // Only if source = "live": pictures of its own from here on, and sender.count(jpeg.len()) for each.
//! # }
//! ```
//!
//! A receiver: note [`crate::now_ns`], create and bind, [`Receiver::bound`]; then [`Inbox::take`] for every picture of
//! [`Receiver::inbox`].
//!
//! The lab is answered on the thread that reads stdin, and `stop` ends the process there.

mod clip;
mod jpeg;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

pub use clip::Clip;
pub use jpeg::Picture;
pub use receiver::{Inbox, Receiver};
pub use sender::{Sender, Walk};

use crate::{Event, Lab, Phase, Setup};

/// Frames a second in `verify`, at the most.
pub const VERIFY_FPS_MAX: u32 = 30;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Sends the clip.
    Sender(Sender),
    /// Receives it.
    Receiver(Receiver),
}

/// What both roles go by.
#[derive(Debug, Clone)]
pub struct Job {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The address of the interface to be on.
    pub local: IpAddr,
    /// The other role's address.
    pub peer: IpAddr,
    /// Size of a picture, in pixels.
    pub width: u16,
    /// Size of a picture, in pixels.
    pub height: u16,
    /// Quality, for encoders.
    pub quality: u8,
    /// Frames a second; 0: flat out.
    pub fps: u32,
    /// The longest RTP packet, its header included.
    pub packet_bytes: usize,
    /// Whether pictures after `verify` are the sender's own.
    pub live: bool,
    frames: usize,
    clip: PathBuf,
    window_ns: u64,
}

impl Job {
    fn new(lab: Lab, setup: &Setup) -> Self {
        fn bounded<T: TryFrom<u64>>(lab: Lab, setup: &Setup, name: &str) -> T {
            let value = setup.params.int(name);
            T::try_from(value)
                .unwrap_or_else(|_| lab.failed(format!("parameter `{name}` is {value}: too large")))
        }
        let clip = setup.inputs.get("clip");
        Self {
            lab,
            local: setup.local,
            peer: setup.peer,
            width: bounded(lab, setup, "width"),
            height: bounded(lab, setup, "height"),
            quality: bounded(lab, setup, "quality"),
            fps: bounded(lab, setup, "fps"),
            packet_bytes: bounded(lab, setup, "packet_bytes"),
            live: setup.params.text("source") == "live",
            frames: bounded(lab, setup, "clip_frames"),
            clip: clip.unwrap_or_else(|| lab.failed("setup: inputs has no `clip`")).clone(),
            // A cast of a float saturates.
            window_ns: (setup.params.float("seconds") * 1e9) as u64,
        }
    }

    /// The clip, opened and indexed.
    fn open_clip(&self) -> Clip {
        let clip = Clip::open(&self.clip).unwrap_or_else(|why| self.lab.failed(why));
        if clip.frames() != self.frames {
            self.lab.failed(format!("the clip has {} frames, not {}", clip.frames(), self.frames));
        }
        clip
    }
}

/// Reads the setup and serves the lab from then on. Once a process, and first in `main`. Another workload or an unknown
/// role is `unsupported`.
pub fn connect() -> &'static Role {
    // The lab is served until the process ends, and so long lives what it asks about.
    static ROLE: OnceLock<Role> = OnceLock::new();
    let (lab, setup) = Lab::connect_with(|event| match ROLE.wait() {
        Role::Sender(sender) => sender.handle(event),
        Role::Receiver(receiver) => receiver.handle(event),
    });
    ROLE.get_or_init(|| Role::new(lab, &setup))
}

impl Role {
    fn new(lab: Lab, setup: &Setup) -> Self {
        if setup.workload != "mjpeg" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        match setup.role.as_str() {
            "sender" => Self::Sender(Sender::new(Job::new(lab, setup))),
            "receiver" => Self::Receiver(Receiver::new(Job::new(lab, setup))),
            other => lab.unsupported(format!("the role `{other}`")),
        }
    }

    /// For `ready`, `unsupported` and `failed`.
    pub fn lab(&self) -> Lab {
        match self {
            Self::Sender(sender) => sender.job.lab,
            Self::Receiver(receiver) => receiver.job.lab,
        }
    }
}

/// What the lab's thread tells the role's.
#[derive(Debug, Default)]
struct Course(Mutex<State>, Condvar);

#[derive(Debug, Default, Clone, Copy)]
struct State {
    phase: Option<Phase>,
    /// Of the receiver.
    port: Option<u16>,
    /// The receiver has every frame of `verify`.
    have: bool,
}

impl Course {
    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.1.notify_all();
    }

    fn now(&self) -> State {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this is so.
    fn until(&self, so: impl Fn(&State) -> bool) -> State {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *self.1.wait_while(held, |state| !so(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// What both roles do with an event alike; gives back what is theirs.
    fn handle(&self, event: Event) -> Option<Event> {
        match event {
            Event::Start(phase) => self.change(|state| state.phase = Some(phase)),
            other => return Some(other),
        }
        None
    }
}
