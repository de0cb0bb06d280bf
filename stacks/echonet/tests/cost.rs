//! Allocations and memory of requests and nodes, both exact.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::cast_possible_wrap, missing_docs)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Instant;

use common::{LIGHT, MAKER, address, hex, home, unicast};
use netdyno_echonet_core::{
    Controller, ControllerConfig, ControllerEvent, Device, Eoj, Epc, NodeAddress, Request, Source,
};

struct Counting;

thread_local! {
    /// Per thread, since tests run in parallel.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn counted(count: usize, bytes: isize) {
    let _ = COUNT.try_with(|cell| cell.set(cell.get() + count));
    let _ = LIVE.try_with(|cell| cell.set(cell.get() + bytes));
}

// SAFETY: every call is passed on to the system's allocator; counting does not allocate. The default
// `realloc` is counted as an allocation and a release.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        counted(1, layout.size() as isize);
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        counted(0, -(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations per call of `run`, over `times` calls after a first one.
fn allocations(times: usize, mut run: impl FnMut()) -> f64 {
    (0..10).for_each(|_| run());
    let before = COUNT.get();
    (0..times).for_each(|_| run());
    (COUNT.get() - before) as f64 / times as f64
}

#[test]
fn a_device_answers_without_allocating() {
    let mut device = Device::new(&home()).unwrap();
    let (now, mut out) = (Instant::now(), [0; 1500]);
    let rows = [
        "1081 0102 05FF01 0EF001 62 0B 8000 8200 8300 8A00 9D00 9E00 9F00 D300 D400 D600 D700",
        "1081 0102 05FF01 029101 62 03 8000 EE00 B000",
        "1081 0102 05FF01 029101 63 01 8000",
        "1081 0102 05FF01 029101 60 01 B00105",
        "1081 0102 05FF01 029101 6E 02 D003010203 EE0101 01 B000",
        "1081 0102 05FF01 029103 62 01 8000",
        "1081 0102 05FF01 029101 62 02 8000",
    ];
    for row in rows {
        let request = hex(row);
        let count = allocations(100, || {
            device.handle(now, &request, unicast(9), &mut out);
            while device.poll_transmit(now, &mut out).is_some() {}
            while device.poll_event().is_some() {}
        });
        assert_eq!(count, 0.0, "{row}");
    }
    // On, off: each change is announced.
    let requests = ["30", "31"].map(|value| hex(&format!("1081 0102 05FF01 029101 61 01 8001{value}")));
    let mut turn = 0;
    let count = allocations(100, || {
        turn = 1 - turn;
        device.handle(now, &requests[turn], unicast(9), &mut out).unwrap();
        assert!(device.poll_transmit(now, &mut out).is_some());
        while device.poll_event().is_some() {}
    });
    assert_eq!(count, 0.0);
}

#[test]
fn a_read_allocates_its_answer() {
    let mut controller = Controller::new(ControllerConfig::new(MAKER, [7; 13])).unwrap();
    let mut device = Device::new(&home()).unwrap();
    let (now, mut out, mut back) = (Instant::now(), [0; 1500], [0; 1500]);
    let count = allocations(100, || {
        controller.request(now, address(9), LIGHT, Request::Get(&[Epc(0x80)])).unwrap();
        let sent = controller.poll_transmit(now, &mut out).unwrap();
        let answer = device.handle(now, &out[..sent.bytes], unicast(1), &mut back).unwrap();
        controller.handle(now, &back[..answer.bytes], unicast(9), &mut out);
        while let Some(event) = controller.poll_event() {
            if let ControllerEvent::Answer { result, .. } = event {
                assert_eq!(result.unwrap().get(Epc(0x80)), Some(&[0x30][..]));
            }
        }
    });
    // The answer's bytes, and the entry of the single timer.
    assert!(count <= 2.0, "{count}");
}

#[test]
fn memory_of_a_node() {
    let before = LIVE.get();
    let devices: Vec<Device> = (0..100).map(|_| Device::new(&home()).unwrap()).collect();
    let each = (LIVE.get() - before) / 100;
    assert!(each < 8192, "a device of two objects and 24 properties: {each} bytes");
    drop(devices);
    let mut controller = Controller::new(ControllerConfig::new(MAKER, [7; 13])).unwrap();
    let before = LIVE.get();
    let (now, mut out) = (Instant::now(), [0; 1500]);
    let told = hex("1081 0000 0EF001 0EF001 73 01 D504 01 029101");
    for number in 0..1000_u16 {
        let [high, low] = number.to_be_bytes();
        let node: NodeAddress = std::net::IpAddr::from([10, 0, high, low]).into();
        controller.handle(now, &told, Source::multicast(node), &mut out);
        while controller.poll_event().is_some() {}
    }
    assert_eq!(controller.nodes().count(), 1000);
    assert!(
        controller
            .nodes()
            .all(|(_, node)| node.instance(LIGHT).is_some() && node.instance(Eoj::NODE_PROFILE).is_some())
    );
    let each = (LIVE.get() - before) / 1000;
    assert!(each < 2048, "a node that a controller knows: {each} bytes");
}
