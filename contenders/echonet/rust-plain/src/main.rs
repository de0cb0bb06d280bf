//! The echonet workload on plain sockets: ../PLAIN.md.

mod device;
mod frame;
mod link;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netdyno_contender::echonet::{
    self, Controller, GROUP, LIGHTING, NODE_PROFILE, Property, Reads, Role, TICK,
};
use netdyno_contender::{Lab, now_ns};

use crate::device::{Destination, Device};
use crate::frame::{DATAGRAM_BYTES_MAX, Frame, Writer, esv};
use crate::link::Link;

/// The controller's own object.
const CONTROLLER: [u8; 3] = [0x05, 0xff, 0x01];
const SEARCH: Property = Property { eoj: NODE_PROFILE, epc: 0xd6 };
const SEARCH_AGAIN: Duration = Duration::from_secs(1);

fn main() {
    let role = echonet::connect();
    let lab = role.lab();
    lab.ready("rust-plain", env!("RUSTC_VERSION"), "threads");
    let ended = match role {
        Role::Controller(controller) => read(controller),
        Role::Device(device) => answer(device),
    };
    let Err(error) = ended;
    lab.failed(error)
}

enum Never {}

fn answer(role: &'static echonet::Device) -> io::Result<Never> {
    let link = Link::open(v4(role.lab, role.local), None)?;
    let mut device = Device::new(&role.identification());
    let (mut datagram, mut answer) = ([0; DATAGRAM_BYTES_MAX], Writer::new());
    device.announce(&mut answer);
    link.send(answer.datagram(), GROUP)?;
    role.serves();
    loop {
        let Some((length, IpAddr::V4(from))) = link.receive(&mut datagram)? else { continue };
        let Some(request) = Frame::parse(&datagram[..length]) else { continue };
        for number in 0..device.objects() {
            match device.answer(number, &request, &mut answer) {
                Destination::Nowhere => {}
                Destination::Sender => link.send(answer.datagram(), from)?,
                Destination::Group => link.send(answer.datagram(), GROUP)?,
            }
        }
    }
}

fn read(controller: &'static Controller) -> io::Result<Never> {
    let (lab, peer) = (controller.lab, v4(controller.lab, controller.peer));
    controller.await_device();
    let created_ns = now_ns();
    let link = Link::open(v4(lab, controller.local), Some(TICK))?;
    let (mut datagram, mut request) = ([0; DATAGRAM_BYTES_MAX], Writer::new());
    discover(&link, peer, &mut datagram)?;
    controller.found(created_ns);
    let mut reads = controller.reads();
    loop {
        while let Some(read) = reads.next() {
            write_get(&mut request, read.tid, read.property);
            reads.sent(read.tid, now_ns());
            link.send(request.datagram(), peer)?;
        }
        let received = link.receive(&mut datagram)?;
        let at_ns = now_ns();
        match received {
            None => reads.expire(at_ns),
            Some((length, from)) if from == peer => {
                if let Some(frame) = Frame::parse(&datagram[..length]) {
                    take(&mut reads, &frame, at_ns);
                }
            }
            Some(_) => {}
        }
    }
}

fn write_get(request: &mut Writer, tid: u16, property: Property) {
    request.begin(tid, CONTROLLER, property.eoj, esv::GET);
    request.put(property.epc, &[]);
}

/// Handles an answer to an outstanding or lost read.
fn take(reads: &mut Reads, frame: &Frame<'_>, at_ns: u64) {
    let value = |edt| (frame.esv == esv::GET_RES).then_some(edt);
    let Some(property) = frame.properties.iter().next() else { return };
    let asked = Property { eoj: frame.seoj, epc: property.epc };
    if matches!(frame.esv, esv::GET_RES | esv::GET_SNA)
        && reads.outstanding(frame.tid).is_none_or(|wanted| wanted == asked)
    {
        reads.answered(frame.tid, value(property.edt), at_ns);
    }
}

fn discover(link: &Link, peer: Ipv4Addr, datagram: &mut [u8]) -> io::Result<()> {
    let mut search = Writer::new();
    write_get(&mut search, 1, SEARCH);
    let mut asked_ns = None;
    loop {
        let now_ns = now_ns();
        if asked_ns.is_none_or(|asked_ns| now_ns - asked_ns >= SEARCH_AGAIN.as_nanos() as u64) {
            link.send(search.datagram(), GROUP)?;
            asked_ns = Some(now_ns);
        }
        if let Some((length, from)) = link.receive(datagram)?
            && from == peer
            && Frame::parse(&datagram[..length]).is_some_and(|frame| lists_lighting(&frame))
        {
            return Ok(());
        }
    }
}

/// Whether a frame contains an instance list with the lighting.
fn lists_lighting(frame: &Frame<'_>) -> bool {
    let lists = frame.properties.iter().filter(|property| matches!(property.epc, 0xd5 | 0xd6));
    let mut instances = lists.filter_map(|list| list.edt.get(1..)).flat_map(|list| list.chunks_exact(3));
    matches!(frame.esv, esv::GET_RES | esv::INF)
        && frame.seoj == NODE_PROFILE
        && instances.any(|eoj| eoj == LIGHTING)
}

fn v4(lab: Lab, address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => lab.unsupported(format!("the address {address} is not IPv4")),
    }
}
