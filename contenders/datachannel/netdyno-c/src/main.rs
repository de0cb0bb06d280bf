//! The `datachannel` workload in C (`main.c`), linked with the library. This file contains no code.
#![no_main]

use netdyno_rtc_c as _;
