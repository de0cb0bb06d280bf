//! With the C library's allocator.

fn main() {
    netdyno_mjpeg_rust_gstreamer::run("malloc")
}
