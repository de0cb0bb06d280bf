//! Searching for nodes.

use std::time::{Duration, Instant};

use crate::address::{Destination, Transmit};
use crate::controller::config::Search;
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::esv::Esv;
use crate::frame::{Frame, FrameWriter, Header};
use crate::limits::SEARCH_REPEATS_MAX;
use crate::tid::Tid;

/// The last search. All its messages have the same TID, so that an answer to any of them is recognised.
#[derive(Debug, Default)]
pub(super) struct Searching {
    tid: Option<Tid>,
    /// Messages still to be sent.
    left: u8,
    next_at: Option<Instant>,
}

impl Searching {
    pub(super) fn start(&mut self, now: Instant, tid: Tid, kind: Search, repeats: u8) {
        let each = if kind == Search::Both { 2 } else { 1 };
        self.tid = Some(tid);
        self.left = repeats.clamp(1, SEARCH_REPEATS_MAX) * each;
        self.next_at = Some(now);
    }

    /// The next message, if it is due. [`Search::Both`] sends the two kinds in succession.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        kind: Search,
        interval: Duration,
        seoj: Eoj,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let tid = self.tid.filter(|_| self.left > 0 && self.next_at.is_some_and(|next_at| next_at <= now))?;
        let notify = kind == Search::Notify || kind == Search::Both && self.left.is_multiple_of(2);
        self.left -= 1;
        if kind != Search::Both || self.left.is_multiple_of(2) {
            self.next_at = (self.left > 0).then(|| now + interval);
        }
        let (esv, epc) = if notify {
            (Esv::InfReq, Epc::INSTANCE_LIST_NOTIFICATION)
        } else {
            (Esv::Get, Epc::INSTANCE_LIST)
        };
        let header = Header { tid, seoj, deoj: Eoj::NODE_PROFILE, esv };
        let mut writer = FrameWriter::new(out, header).ok()?;
        writer.property(epc, &[]).ok()?;
        Some(Transmit { to: Destination::Multicast, bytes: writer.finish().ok()? })
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next_at
    }

    /// Whether a frame answers the search.
    pub(super) fn is_answered_by(&self, frame: &Frame<'_>) -> bool {
        self.tid == Some(frame.tid) && frame.seoj.class() == Eoj::NODE_PROFILE.class()
    }

    /// The instances in a direct answer to the search.
    pub(super) fn answer<'a>(&self, frame: &Frame<'a>) -> Option<&'a [u8]> {
        let answers = self.is_answered_by(frame) && frame.esv == Esv::GetRes;
        Some(frame.properties.find(Epc::INSTANCE_LIST).filter(|_| answers)?.edt)
    }
}
