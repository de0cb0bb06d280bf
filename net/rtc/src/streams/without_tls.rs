//! Stub for builds without TLS.

use super::event::StreamError;

#[derive(Debug, Clone)]
pub(crate) enum Secure {}

impl Secure {
    pub(crate) fn new(_: &str, _: Option<&str>) -> Result<Self, &'static str> {
        Err("TLS to servers is not available: enable the feature `tls` of netdyno-rtc")
    }
}

#[derive(Debug)]
pub(super) enum Tls {}

impl Tls {
    pub(super) fn new(secure: &Secure) -> Result<Self, StreamError> {
        match *secure {}
    }

    pub(super) fn receive(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<bool, StreamError> {
        match *self {}
    }

    pub(super) fn clear(&self) -> &[u8] {
        match *self {}
    }

    pub(super) fn take(&mut self, _: usize, _: &mut Vec<u8>) {
        match *self {}
    }

    pub(super) fn send(&mut self, _: &[u8], _: &mut Vec<u8>) {
        match *self {}
    }

    pub(super) fn end(&mut self, _: &mut Vec<u8>) {
        match *self {}
    }
}
