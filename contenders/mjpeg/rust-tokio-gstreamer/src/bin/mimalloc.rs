//! With mimalloc for Rust's allocations. Those of GStreamer use the C library's allocator.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    netdyno_mjpeg_rust_tokio_gstreamer::run("mimalloc for Rust")
}
