//! With the C library's allocator.

fn main() {
    netdyno_mjpeg_rust_tokio_gstreamer::run("malloc")
}
