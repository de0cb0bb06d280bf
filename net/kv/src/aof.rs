//! Nothing yet.
use netdyno_kv_core::Engine;
pub(crate) struct Aof;
impl Aof {
    pub(crate) fn append(&self, _: &mut Engine, _: bool) -> u64 {
        0
    }
    pub(crate) fn commit(&self, _: u64) -> Result<(), ()> {
        Ok(())
    }
    pub(crate) fn is_dumping(&self) -> bool {
        false
    }
}
