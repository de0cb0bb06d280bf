//! The thread's desk: `dimpl` takes its cryptography as `&'static dyn`, so the state of a connection is
//! placed here during a call into `dimpl`.

use std::cell::RefCell;
use std::sync::Arc;

use aws_lc_rs::signature::EcdsaKeyPair;

use super::key_block::{Expansion, KEY_BLOCK_BYTES_MAX};
use super::protection::Keys;
use super::thirteen::schedule::Secret;
use super::thirteen::secrets::{Epochs, Secrets};
use super::transcript::{LastKey, Transcript};
use super::unverified::Unverified;

/// The state of the connection that this thread is processing.
#[derive(Default)]
pub(super) struct Desk {
    /// Signs on our behalf.
    pub key_pair: Option<Arc<EcdsaKeyPair>>,
    /// DTLS 1.2: the input of the key block.
    pub expansion: Option<Expansion>,
    /// DTLS 1.2: the resulting key block.
    pub key_block: Option<Secret<KEY_BLOCK_BYTES_MAX>>,
    /// DTLS 1.2: the keys in it.
    pub keys: Option<Keys>,
    /// The secrets of DTLS 1.3.
    pub epochs: Epochs,
    /// Whether the peer's signature can be verified later.
    pub defers: bool,
    /// A signature to be verified.
    pub unverified: Option<Unverified>,
    /// The last hashed transcript.
    pub transcript: Option<Transcript>,
    /// The key of the last HMAC.
    pub last_key: Option<LastKey>,
}

/// The results of one call into `dimpl`.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// DTLS 1.2: the keys of the records.
    pub keys: Option<Keys>,
    /// DTLS 1.3: the secrets of epoch 2.
    pub handshake: Option<Secrets>,
    /// DTLS 1.3: the secrets of epoch 3.
    pub application: Option<Secrets>,
    /// The peer's signature, if its verification was deferred.
    pub unverified: Option<Unverified>,
    /// The last hashed transcript, for the next call.
    pub transcript: Option<Transcript>,
}

thread_local! {
    /// `None` outside of a connection, as in the self-test of `dimpl`.
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

/// Calls into `dimpl` for the owner of this key pair. Returns the keys created during the call.
///
/// `defers`: the caller will verify the peer's signature.
pub(super) fn watch<T>(key_pair: &Arc<EcdsaKeyPair>, defers: bool, call: impl FnOnce() -> T) -> (T, Made) {
    watch_on(key_pair, defers, None, call)
}

/// The same with the transcript of the previous call.
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

/// Accesses the desk. `None`: there is none.
pub(super) fn with_desk<T>(call: impl FnOnce(&mut Desk) -> T) -> Option<T> {
    DESK.with_borrow_mut(|desk| desk.as_mut().map(call))
}
