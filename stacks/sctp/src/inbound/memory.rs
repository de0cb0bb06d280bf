//! What messages are made of, and what it is charged to.

use super::blocks::BlockPool;
use super::buffers::Buffers;
use super::violation;
use super::window::Window;
use crate::config::Config;
use crate::error::ProtocolViolation;

/// Window, buffers and blocks: what everything that holds data needs.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) window: Window,
    /// For messages that are put together.
    pub(super) buffers: Buffers,
    /// For messages that came in one piece.
    pub(super) blocks: BlockPool,
    max_message_bytes: usize,
}

impl Memory {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            buffers: Buffers::default(),
            blocks: BlockPool::new(),
            max_message_bytes: config.limits.max_message_bytes,
        }
    }

    /// Gives back what is empty.
    pub(super) fn release(&mut self) {
        self.buffers.release();
        self.blocks.clear();
    }

    /// An error if a message is longer than we said we take.
    #[inline]
    pub(super) fn check_message_bytes(&self, bytes: usize) -> Result<(), ProtocolViolation> {
        if bytes > self.max_message_bytes {
            return violation("RFC 8841 section 6", "no message is longer than a=max-message-size");
        }
        Ok(())
    }
}
