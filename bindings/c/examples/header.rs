//! Prints the header: `cargo run -p netdyno-rtc-c --example header > bindings/c/include/netdyno_rtc.h`.

#[path = "../tests/support/header.rs"]
mod header;

fn main() {
    print!("{}", header::generate());
}
