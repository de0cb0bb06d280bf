//! The thread's desk: `dimpl` takes its cryptography as `&'static dyn`, so what belongs to one connection lies there for
//! the length of one call into `dimpl`.

use std::cell::RefCell;
use std::sync::Arc;

use aws_lc_rs::signature::EcdsaKeyPair;

use super::key_block::{Expansion, KEY_BLOCK_BYTES_MAX};
use super::protection::Keys;
use super::thirteen::schedule::Secret;
use super::thirteen::secrets::{Epochs, Secrets};
use super::transcript::{LastKey, Transcript};
use super::unverified::Unverified;

/// What belongs to the connection that this thread is working for.
#[derive(Default)]
pub(super) struct Desk {
    /// Signs for us.
    pub key_pair: Option<Arc<EcdsaKeyPair>>,
    /// DTLS 1.2: what the key block will be made of.
    pub expansion: Option<Expansion>,
    /// DTLS 1.2: what was made of it.
    pub key_block: Option<Secret<KEY_BLOCK_BYTES_MAX>>,
    /// DTLS 1.2: the keys that stand in it.
    pub keys: Option<Keys>,
    /// The secrets of DTLS 1.3.
    pub epochs: Epochs,
    /// Whether the peer's signature can be verified later.
    pub defers: bool,
    /// And it has to be.
    pub unverified: Option<Unverified>,
    /// What was hashed last.
    pub transcript: Option<Transcript>,
    /// The key of the last HMAC.
    pub last_key: Option<LastKey>,
}

/// What was made in one call into `dimpl`.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// DTLS 1.2: the keys of the records.
    pub keys: Option<Keys>,
    /// DTLS 1.3: the secrets of epoch 2.
    pub handshake: Option<Secrets>,
    /// DTLS 1.3: the secrets of epoch 3.
    pub application: Option<Secrets>,
    /// The peer's signature, if it is to be verified later and was not.
    pub unverified: Option<Unverified>,
    /// What was hashed last, for the next call.
    pub transcript: Option<Transcript>,
}

thread_local! {
    /// None: nobody watches, as in the self-test of `dimpl`.
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

/// Calls into `dimpl` for the owner of this key pair. Gives what keys were made in this call.
///
/// `defers`: the caller will verify the peer's signature.
pub(super) fn watch<T>(key_pair: &Arc<EcdsaKeyPair>, defers: bool, call: impl FnOnce() -> T) -> (T, Made) {
    watch_on(key_pair, defers, None, call)
}

/// The same, where something was hashed in the call before.
pub(super) fn watch_on<T>(
    key_pair: &Arc<EcdsaKeyPair>,
    defers: bool,
    transcript: Option<Transcript>,
    call: impl FnOnce() -> T,
) -> (T, Made) {
    let desk = Desk { key_pair: Some(Arc::clone(key_pair)), defers, transcript, ..Desk::default() };
    DESK.set(Some(desk));
    let result = call();
    let made = DESK.take().map(|Desk { keys, epochs, unverified, transcript, .. }| {
        let Epochs { handshake, application } = epochs;
        let (handshake, application) = (handshake.secrets(), application.secrets());
        Made { keys, handshake, application, unverified, transcript }
    });
    (result, made.unwrap_or_default())
}

/// Does something on the desk. None: nobody watches.
pub(super) fn with_desk<T>(call: impl FnOnce(&mut Desk) -> T) -> Option<T> {
    DESK.with_borrow_mut(|desk| desk.as_mut().map(call))
}
