//! The blocking interface: endpoints.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::blocking::Endpoint;

use crate::error::{Failure, call, guarded, nd_code, required};
use crate::memory::{Text, hand_over};
use crate::options::nd_settings;

/// One UDP port, or one for each thread, for any number of connections, and the threads that drive them.
/// Several threads may use it at the same time.
#[derive(Debug)]
pub struct nd_endpoint(pub(crate) Endpoint);

/// Binds "ADDRESS:PORT" (port 0: any free port) and starts the threads. `settings` may be NULL.
///
/// Free `*endpoint` with nd_endpoint_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_bind(
    address: Text,
    address_length: usize,
    settings: Option<&nd_settings>,
    endpoint: Option<&mut MaybeUninit<*mut nd_endpoint>>,
) -> nd_code {
    call(|| {
        let endpoint = required(endpoint)?;
        let bound = Endpoint::bind(socket_address(&address, address_length)?, nd_settings::read(settings)?)?;
        endpoint.write(Box::into_raw(Box::new(nd_endpoint(bound))));
        Ok(())
    })
}

/// Returns the bound address as "ADDRESS:PORT"; with several threads, that of the first.
///
/// Free `*text` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_address(
    endpoint: Option<&nd_endpoint>,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(required(endpoint)?.0.local_address().to_string(), required(text)?, length))
}

/// Frees the handle. The endpoint and its threads end when the last of its connections and channels is freed
/// too. No other thread may be using the handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_free(endpoint: Option<Box<nd_endpoint>>) {
    guarded((), || endpoint.map(drop));
}

pub(crate) fn socket_address(text: &Text, length: usize) -> Result<std::net::SocketAddr, Failure> {
    let text = text.text(length)?;
    text.parse().map_err(|_| {
        Failure::invalid(format!("{text:?} is not an \"ADDRESS:PORT\", such as 0.0.0.0:0 or [::]:5000"))
    })
}
