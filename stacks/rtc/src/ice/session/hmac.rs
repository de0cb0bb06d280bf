//! The hash that authenticates the agent's messages.

use aws_lc_rs::hmac;
use is::Sha1HmacProvider;

/// HMAC-SHA1, as STUN requires.
#[derive(Debug)]
pub(in crate::ice) struct AwsLcHmac;

impl Sha1HmacProvider for AwsLcHmac {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key);
        let mut context = hmac::Context::with_key(&key);
        payloads.iter().for_each(|payload| context.update(payload));
        context.sign().as_ref().try_into().expect("SHA-1 has 20 bytes")
    }
}
