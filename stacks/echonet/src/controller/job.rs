//! State of a request: what remains to be requested, and the answers so far.

use crate::controller::request::{Answer, Request, RequestError, RequestId};
use crate::eoj::Eoj;
use crate::epc::Epc;
use crate::error::WriteError;
use crate::esv::Esv;
use crate::frame::{Frame, FrameWriter, Header, PropertiesIter, Property};
use crate::limits::{EDT_BYTES_MAX, HEADER_BYTES, PROPERTIES_MAX};
use crate::tid::Tid;

/// The originator of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Purpose {
    /// The application.
    #[default]
    Application,
    /// The interview of a new node.
    Interview,
    /// A refresh of the list of instances.
    Refresh,
}

/// The effect of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// The next part must be requested.
    More,
    Done,
    /// The parts together exceed the limit.
    TooLong,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: RequestId,
    pub(super) purpose: Purpose,
    pub(super) deoj: Eoj,
    pub(super) esv: Esv,
    /// The properties to write, as in a frame.
    writes: Vec<u8>,
    write_count: usize,
    /// The properties to read, followed by those to be requested again.
    epcs: Vec<Epc>,
    /// Ranges of `epcs` that are not yet answered; the next one is last.
    parts: Vec<(usize, usize)>,
    pub(super) answer: Answer,
    /// The length of the longest part without a refusal.
    good: usize,
    /// A whole part was refused.
    cut: bool,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            id: RequestId::default(),
            purpose: Purpose::default(),
            deoj: Eoj::NODE_PROFILE,
            esv: Esv::Get,
            writes: Vec::new(),
            write_count: 0,
            epcs: Vec::new(),
            parts: Vec::new(),
            answer: Answer::default(),
            good: 0,
            cut: false,
        }
    }
}

impl Job {
    /// Reinitialises this job for a request, and keeps its memory.
    pub(super) fn fill(
        &mut self,
        deoj: Eoj,
        request: Request<'_>,
        max_datagram_bytes: usize,
    ) -> Result<(), RequestError> {
        let (esv, writes, reads): (_, &[Property<'_>], &[Epc]) = match request {
            Request::Get(epcs) => (Esv::Get, &[], epcs),
            Request::Set(properties) => (Esv::SetC, properties, &[]),
            Request::SetOnly(properties) => (Esv::SetI, properties, &[]),
            Request::SetGet { set, get } => (Esv::SetGet, set, get),
            Request::Notify(epcs) => (Esv::InfReq, &[], epcs),
        };
        if writes.is_empty() && reads.is_empty() {
            return Err(RequestError::Empty);
        }
        if deoj.is_all_instances() && esv != Esv::SetI {
            return Err(RequestError::AllInstances(deoj));
        }
        let value_bytes: usize = writes.iter().map(|property| 2 + property.edt.len()).sum();
        let bytes = HEADER_BYTES + 1 + value_bytes + 2 * reads.len() + usize::from(esv == Esv::SetGet);
        let too_many = writes.len() > PROPERTIES_MAX || reads.len() > PROPERTIES_MAX;
        let too_long = writes.iter().any(|property| property.edt.len() > EDT_BYTES_MAX);
        if too_many || too_long || bytes > max_datagram_bytes {
            return Err(RequestError::TooLong);
        }
        (self.deoj, self.esv, self.write_count) = (deoj, esv, writes.len());
        self.writes.clear();
        for property in writes {
            // At most 255, as checked above.
            self.writes.extend([property.epc.0, u8::try_from(property.edt.len()).unwrap_or(u8::MAX)]);
            self.writes.extend_from_slice(property.edt);
        }
        self.epcs.clear();
        self.epcs.extend_from_slice(reads);
        self.parts.clear();
        self.parts.push((0, reads.len()));
        self.answer = Answer::default();
        (self.good, self.cut) = (0, false);
        Ok(())
    }

    /// Limits the next part to `limit` properties.
    pub(super) fn limit(&mut self, limit: usize) {
        if self.esv == Esv::Get
            && let Some((start, end)) = self.parts.pop()
        {
            let cut = end.min(start + limit.max(1));
            if cut < end {
                self.parts.push((cut, end));
            }
            self.parts.push((start, cut));
        }
    }

    /// Writes the frame of the next part.
    pub(super) fn write(&self, tid: Tid, seoj: Eoj, out: &mut [u8]) -> Result<usize, WriteError> {
        let header = Header { tid, seoj, deoj: self.deoj, esv: self.esv };
        let mut writer = FrameWriter::new(out, header)?;
        for property in PropertiesIter::over(&self.writes, self.write_count) {
            writer.property(property.epc, property.edt)?;
        }
        if self.esv.has_get_list() {
            writer.get_list()?;
        }
        for epc in self.part() {
            writer.property(*epc, &[])?;
        }
        writer.finish()
    }

    fn part(&self) -> &[Epc] {
        self.parts.last().map_or(&[], |(start, end)| &self.epcs[*start..*end])
    }

    /// Whether a frame with this service answers the request.
    pub(super) fn is_answered_by(&self, esv: Esv) -> bool {
        self.esv.response() == Some(esv) || self.esv.refusal() == Some(esv)
    }

    /// Handles the answer to the current part. `split`: request refused properties again in smaller parts.
    pub(super) fn take(&mut self, frame: &Frame<'_>, split: bool, max_answer_bytes: usize) -> Progress {
        if self.write_count > 0 && frame.esv.is_refusal() {
            self.take_refused_writes(frame);
        }
        let list = if frame.esv.has_get_list() { frame.get } else { frame.properties };
        let Some((start, end)) = self.parts.pop() else { return Progress::Done };
        let mut missing = [false; 256];
        self.epcs[start..end].iter().for_each(|epc| missing[usize::from(epc.0)] = true);
        for property in list {
            let is_value = !frame.esv.is_refusal() || !property.edt.is_empty();
            if missing[usize::from(property.epc.0)] && is_value {
                missing[usize::from(property.epc.0)] = false;
                if !self.answer.add(&property, max_answer_bytes) {
                    return Progress::TooLong;
                }
            }
        }
        let (asked, first) = (end - start, self.epcs.len());
        for at in start..end {
            let epc = self.epcs[at];
            if std::mem::take(&mut missing[usize::from(epc.0)]) {
                self.epcs.push(epc);
            }
        }
        self.refused(asked, first, split && self.esv == Esv::Get);
        if self.parts.is_empty() { Progress::Done } else { Progress::More }
    }

    /// Properties from `first` on, of `asked` properties, were refused. A refusal of a single property is
    /// final; in a longer part, some may have been refused because there were too many.
    fn refused(&mut self, asked: usize, first: usize, split: bool) {
        let end = self.epcs.len();
        let count = end - first;
        if count == 0 {
            self.good = self.good.max(asked);
        } else if asked == 1 || !split {
            self.answer.refused.extend(self.epcs.drain(first..));
        } else if count < asked {
            self.parts.push((first, end));
        } else {
            self.cut = true;
            let middle = first + count.div_ceil(2);
            self.parts
                .extend([(middle, end), (first, middle)].into_iter().filter(|(start, end)| start < end));
        }
    }

    /// In a refusal, 0 bytes mark what was written. A refusal without properties refuses all.
    fn take_refused_writes(&mut self, frame: &Frame<'_>) {
        let refused =
            frame.properties.iter().filter(|property| !property.edt.is_empty()).map(|property| property.epc);
        self.answer.refused_writes.extend(refused);
        if self.answer.refused_writes.is_empty() && frame.esv == Esv::SetCSna {
            let all = PropertiesIter::over(&self.writes, self.write_count).map(|property| property.epc);
            self.answer.refused_writes.extend(all);
        }
    }

    /// How many properties the node accepts at a time, if this request shows it: all parts were answered, but
    /// not in a single message.
    pub(super) fn learned_limit(&self) -> Option<usize> {
        (self.cut && self.answer.refused.is_empty() && self.good > 0).then_some(self.good)
    }
}
