//! What Rust allocates comes from jemalloc; GStreamer's own from the C library.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    netdyno_mjpeg_rust_gstreamer::run("jemalloc")
}
