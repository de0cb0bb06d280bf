//! State and counters of an `mjpeg` role. An adapter adds little more than the calls of its library.
//!
//! | does | does not |
//! |---|---|
//! | read the clip one frame at a time, and schedule the frames ([`Walk`]) | open a socket, or encode or parse a packet |
//! | compare each picture with the clip, and count ([`Inbox`]) | decode or encode |
//! | answer the lab | choose a runtime |
//!
//! A sender calls [`Sender::await_port`], creates the library's sender, and calls [`Sender::connected`]. Then it runs this loop:
//!
//! ```no_run
//! # use netdyno_contender::mjpeg::Sender;
//! # fn send(_: &[u8]) {}
//! # fn example(sender: &'static Sender) {
//! let mut walk = sender.walk();
//! let mut jpeg = Vec::new();
//! while walk.next(&mut jpeg) {
//!     walk.await_due(); // unless the library paces frames itself, by walk.interval()
//!     send(&jpeg);
//!     walk.sent(&jpeg);
//! }
//! // Reached only if source = "live": generate pictures, and call sender.count(jpeg.len()) for each.
//! # }
//! ```
//!
//! A receiver reads [`crate::now_ns`], creates and binds the library's receiver, calls [`Receiver::bound`], and passes every
//! picture to [`Inbox::take`] of [`Receiver::inbox`].
//!
//! The thread that reads stdin answers the lab and ends the process on `stop`.

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

/// Maximum number of frames per second in `verify`.
pub const VERIFY_FPS_MAX: u32 = 30;

/// The role of this process.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, in a static")]
pub enum Role {
    /// Sends the clip.
    Sender(Sender),
    /// Receives the clip.
    Receiver(Receiver),
}

/// The parameters of both roles.
#[derive(Debug, Clone)]
pub struct Job {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// The address of the interface to use.
    pub local: IpAddr,
    /// The other role's address.
    pub peer: IpAddr,
    /// Width of a picture in pixels.
    pub width: u16,
    /// Height of a picture in pixels.
    pub height: u16,
    /// Quality for encoders.
    pub quality: u8,
    /// Frames per second; 0: as fast as possible.
    pub fps: u32,
    /// Maximum length of an RTP packet, including its header.
    pub packet_bytes: usize,
    /// Whether the sender generates the pictures after `verify`.
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
            clip: clip.unwrap_or_else(|| lab.failed("the setup has no input `clip`")).clone(),
            // The cast saturates.
            window_ns: (setup.params.float("seconds") * 1e9) as u64,
        }
    }

    /// Opens and indexes the clip.
    fn open_clip(&self) -> Clip {
        let clip = Clip::open(&self.clip).unwrap_or_else(|why| self.lab.failed(why));
        if clip.frames() != self.frames {
            self.lab.failed(format!("the clip has {} frames, expected {}", clip.frames(), self.frames));
        }
        clip
    }
}

/// Reads the setup and starts serving the lab. Call it once, at the start of `main`. Another workload or an unknown role
/// is `unsupported`.
pub fn connect() -> &'static Role {
    // The lab is served until the process ends, so the role must have a static lifetime.
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

/// State that the lab's thread shares with the role's.
#[derive(Debug, Default)]
struct Progress(Mutex<State>, Condvar);

#[derive(Debug, Default, Clone, Copy)]
struct State {
    phase: Option<Phase>,
    /// The RTP port of the receiver.
    port: Option<u16>,
    /// The receiver has every frame of `verify`.
    have: bool,
}

impl Progress {
    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.1.notify_all();
    }

    fn now(&self) -> State {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the state satisfies `so`.
    fn until(&self, so: impl Fn(&State) -> bool) -> State {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *self.1.wait_while(held, |state| !so(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles events that are common to both roles; returns the others.
    fn handle(&self, event: Event) -> Option<Event> {
        match event {
            Event::Start(phase) => self.change(|state| state.phase = Some(phase)),
            other => return Some(other),
        }
        None
    }
}
