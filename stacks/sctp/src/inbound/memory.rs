//! Memory for messages, and the window that it is charged to.

use super::blocks::BlockPool;
use super::buffers::Buffers;
use super::violation;
use super::window::Window;
use crate::config::Config;
use crate::error::ProtocolViolation;

/// Window, buffers and blocks, which everything that holds data needs.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) window: Window,
    /// For reassembled messages.
    pub(super) buffers: Buffers,
    /// For messages that arrived in one chunk.
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

    /// Frees empty buffers.
    pub(super) fn release(&mut self) {
        self.buffers.release();
        self.blocks.clear();
    }

    /// Fails if a message exceeds the length that we announced.
    #[inline]
    pub(super) fn check_message_bytes(&self, bytes: usize) -> Result<(), ProtocolViolation> {
        if bytes > self.max_message_bytes {
            return violation("RFC 8841 section 6", "no message is longer than a=max-message-size");
        }
        Ok(())
    }
}
