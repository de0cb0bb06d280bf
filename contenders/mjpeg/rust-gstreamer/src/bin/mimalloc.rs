//! What Rust allocates comes from mimalloc; GStreamer's own from the C library.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    netdyno_mjpeg_rust_gstreamer::run("mimalloc")
}
