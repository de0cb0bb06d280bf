//! The `datachannel` workload in C (`main.c`), linked with the library whose header it uses: no code of Rust's is in between.
#![no_main]

use netdyno_rtc_c as _;
