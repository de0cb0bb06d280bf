//! The face whose calls wait: its endpoint.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::blocking::Endpoint;

use crate::border::{Text, hand_over};
use crate::error::{Failure, call, given, nd_code, shielded};
use crate::options::nd_settings;

/// A UDP port for any number of connections, and the thread that drives it, or as many of both as the settings say. May be used by
/// several threads at a time.
#[derive(Debug)]
pub struct nd_endpoint(pub(crate) Endpoint);

/// Binds "ADDRESS:PORT" (port 0: any that is free) and starts the thread. `settings` may be NULL.
///
/// `*endpoint` is the caller's, for nd_endpoint_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_bind(
    address: Text,
    address_length: usize,
    settings: Option<&nd_settings>,
    endpoint: Option<&mut MaybeUninit<*mut nd_endpoint>>,
) -> nd_code {
    call(|| {
        let endpoint = given(endpoint)?;
        let bound = Endpoint::bind(socket_address(&address, address_length)?, nd_settings::read(settings)?)?;
        endpoint.write(Box::into_raw(Box::new(nd_endpoint(bound))));
        Ok(())
    })
}

/// The address that it is bound to, as "ADDRESS:PORT"; with several threads the first's.
///
/// `*text` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_address(
    endpoint: Option<&nd_endpoint>,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(given(endpoint)?.0.local_address().to_string(), given(text)?, length))
}

/// Gives the endpoint up. It ends, with its threads, when the last of its connections and channels is freed too. No other thread may be
/// using this handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_endpoint_free(endpoint: Option<Box<nd_endpoint>>) {
    shielded((), || endpoint.map(drop));
}

pub(crate) fn socket_address(text: &Text, length: usize) -> Result<std::net::SocketAddr, Failure> {
    let text = text.text(length)?;
    text.parse().map_err(|_| {
        Failure::invalid(format!("{text:?} is no \"ADDRESS:PORT\", such as 0.0.0.0:0 or [::]:5000"))
    })
}
