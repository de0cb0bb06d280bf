//! With jemalloc for Rust's allocations. Those of GStreamer use the C library's allocator.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    netdyno_mjpeg_rust_tokio_gstreamer::run("jemalloc for Rust")
}
