//! The echonet workload on the crate `echonet`, used as in its documentation: a `Device`, and a `Controller` whose
//! `post_message` returns a channel for the answer.

mod interrupted;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::echonet::protocol::{ESV, Message, Property as Wanted};
use ::echonet::{Controller as Library, Device as LibraryDevice, Object, RemoteNode, RequestHandler};
use netdyno_contender::echonet::{
    self, Controller, Device, LIGHTING, NODE_PROFILE, Property, Reader, Role, Unanswered,
};
use netdyno_contender::{lock_version, now_ns};

/// Interval of polling the library for found nodes, because it has no notification.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const SEARCH_AGAIN: Duration = Duration::from_secs(1);

fn main() {
    let role = echonet::connect();
    let version = lock_version(include_str!("../Cargo.lock"), "echonet");
    role.lab().ready("echonet", version, "threads");
    match role {
        Role::Controller(controller) => read(controller),
        Role::Device(device) => answer(device),
    }
}

/// Accepts requests to the device. The library itself decides on those to the node profile.
struct Readable;

impl RequestHandler for Readable {
    fn property_request_received(&mut self, object: &mut Object, esv: ESV, property: &Wanted) -> bool {
        object.code() == code(LIGHTING)
            && esv == ESV::ReadRequest
            && object.find_property(property.code()).is_some()
    }
}

fn answer(role: &'static Device) -> ! {
    let mut device = LibraryDevice::new(code(LIGHTING));
    device.set_request_handler(Arc::new(Mutex::new(Readable)));
    let node = device.node();
    {
        let mut node = node.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = node.find_object_mut(code(NODE_PROFILE));
        let set = profile.is_some_and(|profile| profile.set_property_data(0x83, &role.identification()));
        if !set {
            role.lab.failed("the node profile has no property 83");
        }
    }
    if !device.start() {
        role.lab.failed("cannot start the device");
    }
    role.serves();
    // The SDK ends the process on `stop`.
    loop {
        thread::park();
    }
}

fn read(role: &'static Controller) -> ! {
    role.await_device();
    let created_ns = now_ns();
    let mut library = Library::new();
    if !library.start() {
        role.lab.failed("cannot start the controller");
    }
    let device = find(role, &mut library);
    role.found(created_ns);
    role.drive(vec![Reads { library, device, timeout: role.timeout }])
}

fn find(role: &Controller, library: &mut Library) -> RemoteNode {
    loop {
        if !library.search() {
            role.lab.failed("cannot send the search");
        }
        let until = Instant::now() + SEARCH_AGAIN;
        while Instant::now() < until {
            let known = library.nodes().into_iter();
            let mut known = known.filter(|node| node.addr().ip() == role.peer);
            if let Some(device) = known.find(|node| node.find_object(code(LIGHTING)).is_some()) {
                return device;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

struct Reads {
    library: Library,
    device: RemoteNode,
    timeout: Duration,
}

impl Reader for Reads {
    type Value = Vec<u8>;

    fn read(&mut self, property: Property) -> Result<Vec<u8>, Unanswered> {
        let mut request = Message::new();
        request.set_esv(ESV::ReadRequest);
        request.set_deoj(code(property.eoj));
        let mut wanted = Wanted::new();
        wanted.set_code(property.epc);
        request.add_property(wanted);
        let answers = self.library.post_message(&self.device, &mut request);
        let answer = answers.recv_timeout(self.timeout).map_err(|_| Unanswered::Lost)?;
        let value = answer.properties().first().filter(|_| answer.esv() == ESV::ReadResponse);
        value.map(|value| value.data().clone()).ok_or(Unanswered::Refused)
    }
}

fn code([group, class, instance]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, group, class, instance])
}
