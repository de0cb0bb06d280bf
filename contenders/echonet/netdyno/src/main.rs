//! Both roles of the `echonet` workload on netdyno-echonet, used as in its documentation.

use std::collections::VecDeque;
use std::error::Error;
use std::time::Duration;

use netdyno_contender::echonet::{self, LIGHTING, Property, Reader, Role, TICK, Unanswered};
use netdyno_contender::{Lab, lock_version, now_ns};
use netdyno_echonet::blocking::Device;
use netdyno_echonet::core::{
    Access, Answer, AnswerError, ControllerConfig, ControllerEvent, Description, Eoj, Epc, ObjectDescription,
    PropertyDescription, Request,
};
use netdyno_echonet::{CallError, Controller, Settings};

/// The controller's unique number, which is never read.
const UNIQUE: [u8; 13] = *b"the readings'";

fn main() {
    match echonet::connect() {
        Role::Controller(role) => control(role).unwrap_or_else(|error| role.lab.failed(error)),
        Role::Device(role) => serve(role).unwrap_or_else(|error| role.lab.failed(error)),
    }
}

fn ready(lab: Lab, how: &str) {
    lab.ready("netdyno-echonet", lock_version(include_str!("../Cargo.lock"), "netdyno-echonet"), how);
}

fn serve(role: &'static echonet::Device) -> Result<(), Box<dyn Error>> {
    ready(role.lab, "one thread per socket");
    let maker = role.manufacturer();
    let light = ObjectDescription::device(Eoj(LIGHTING), maker);
    let identification =
        PropertyDescription::new(Epc::IDENTIFICATION_NUMBER, role.identification(), Access::GET);
    let description = Description::new(maker, UNIQUE).object(light).profile_property(identification);
    let _device = Device::open(&Settings::on(&role.local.to_string()), description)?;
    role.serves();
    loop {
        std::thread::park();
    }
}

fn control(role: &'static echonet::Controller) -> Result<(), Box<dyn Error>> {
    ready(role.lab, "on the caller's thread");
    let mut config = ControllerConfig::new([0, 0, 0x0b], UNIQUE);
    // The contract requires no retransmission.
    (config.defaults.timeout, config.defaults.retries, config.lost_after) = (role.timeout, 0, 0);
    config.defaults.parallel = u8::try_from(role.outstanding)?;
    role.await_device();
    let created_ns = now_ns();
    let mut controller = Controller::open(&Settings::on(&role.local.to_string()), config)?;
    controller.search();
    let knows = |controller: &Controller| {
        let node = controller.core().node(role.peer.into());
        node.is_some_and(|node| node.instances().iter().any(|instance| instance.eoj == Eoj(LIGHTING)))
    };
    while !knows(&controller) {
        controller.poll(Some(Duration::from_secs(1)))?;
    }
    role.found(created_ns);
    if role.outstanding == 1 {
        role.drive(vec![One { controller, peer: role.peer }]);
    }
    read_many(role, controller)
}

/// A reader with one outstanding read.
struct One {
    controller: Controller,
    peer: std::net::IpAddr,
}

/// The value of the requested property.
struct Value(Answer);

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self.0.properties().next().map_or(&[], |property| property.edt)
    }
}

impl Reader for One {
    type Value = Value;

    fn read(&mut self, property: Property) -> Result<Value, Unanswered> {
        match self.controller.get(self.peer, Eoj(property.eoj), &[Epc(property.epc)]) {
            Ok(answer) if answer.is_complete() => Ok(Value(answer)),
            Ok(_) => Err(Unanswered::Refused),
            Err(CallError::Answer(AnswerError::Timeout)) => Err(Unanswered::Lost),
            Err(error) => {
                eprintln!("a read failed: {error}");
                Err(Unanswered::Refused)
            }
        }
    }
}

/// Runs several outstanding reads on one thread.
fn read_many(role: &'static echonet::Controller, mut controller: Controller) -> Result<(), Box<dyn Error>> {
    let mut reads = role.reads();
    // Answers arrive almost in the order of their reads.
    let mut outstanding = VecDeque::new();
    loop {
        while let Some(read) = reads.next() {
            reads.sent(read.tid, now_ns());
            let request = Request::Get(&[Epc(read.property.epc)]);
            let id = controller.begin(role.peer, Eoj(read.property.eoj), request)?;
            outstanding.push_back((id, read.tid));
        }
        match controller.next_event(TICK)? {
            Some(ControllerEvent::Answer { id, result, .. }) => {
                let at = outstanding.iter().position(|(outstanding, _)| *outstanding == id);
                let Some((_, tid)) = at.and_then(|at| outstanding.remove(at)) else { continue };
                match &result {
                    Ok(answer) => {
                        let value = answer.properties().next().map(|property| property.edt);
                        reads.answered(tid, value, now_ns());
                    }
                    Err(_) => reads.expire(now_ns()),
                }
            }
            _ => reads.expire(now_ns()),
        }
    }
}
