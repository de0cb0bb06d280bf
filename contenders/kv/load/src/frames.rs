//! The bytes of requests and of expected answers.

use netdyno_contender::kv::turns::Outbox;
use netdyno_contender::kv::{GET_BYTES, KEY_BYTES, Values, append_get, append_set, write_digits};

use crate::draw::Operation;

/// The expected answer to a SET.
pub const OK: &[u8] = b"+OK\r\n";
pub const END: &[u8] = b"\r\n";
/// Values up to this length are copied into their requests; longer ones are passed to the kernel without a copy.
const COPIED_BYTES: usize = 1024;
/// The number of variable digits in a key's name; those before them are always 0.
const DIGITS: usize = 10;

/// Encoder of requests and answers for one length of values.
pub struct Frames {
    pub values: &'static Values,
    /// A GET of key 0, and the head of a SET of it, up to the value.
    get: [u8; GET_BYTES],
    set_head: Box<[u8]>,
    /// The head of the answer to a GET, up to the value.
    pub answer_head: Box<[u8]>,
}

impl Frames {
    pub fn new(values: &'static Values) -> Self {
        let (mut get, mut set) = (Vec::new(), Vec::new());
        append_get(&mut get, 0);
        append_set(&mut set, 0, values);
        set.truncate(set.len() - END.len() - values.value_bytes());
        Self {
            values,
            get: get.try_into().expect("a GET has this length"),
            set_head: set.into(),
            answer_head: format!("${}\r\n", values.value_bytes()).into_bytes().into(),
        }
    }

    /// Length of a request.
    pub fn request_bytes(&self, operation: Operation) -> usize {
        if operation.is_set() {
            self.set_head.len() + self.values.value_bytes() + END.len()
        } else {
            GET_BYTES
        }
    }

    /// Length of the expected answer.
    #[inline]
    pub fn answer_bytes(&self, operation: Operation) -> usize {
        if operation.is_set() {
            OK.len()
        } else {
            self.answer_head.len() + self.values.value_bytes() + END.len()
        }
    }

    /// Writes a request. Returns false if there is no space.
    #[inline]
    pub fn write(&self, operation: Operation, out: &mut Outbox) -> bool {
        if !operation.is_set() {
            if !out.has_room(GET_BYTES) {
                return false;
            }
            let space = out.space(GET_BYTES);
            space.copy_from_slice(&self.get);
            write_digits(&mut space[GET_BYTES - 2 - DIGITS..GET_BYTES - 2], operation.key());
            return true;
        }
        let values = self.values;
        let (lead, body) = (&values.lead(operation.key())[..values.lead_bytes()], values.body());
        let head = self.set_head.len();
        let copied = head + lead.len() + END.len() + if body.len() <= COPIED_BYTES { body.len() } else { 0 };
        if !out.has_room(copied) {
            return false;
        }
        let space = out.space(if body.len() <= COPIED_BYTES { copied } else { head + lead.len() });
        space[..head].copy_from_slice(&self.set_head);
        let key = self.key_at();
        write_digits(&mut space[key + KEY_BYTES - DIGITS..key + KEY_BYTES], operation.key());
        space[head..head + lead.len()].copy_from_slice(lead);
        if body.len() <= COPIED_BYTES {
            space[head + lead.len()..copied - END.len()].copy_from_slice(body);
            space[copied - END.len()..].copy_from_slice(END);
        } else {
            out.lend(body);
            out.space(END.len()).copy_from_slice(END);
        }
        true
    }

    /// The offset of the key's name in a SET, which equals that in a GET.
    const fn key_at(&self) -> usize {
        GET_BYTES - END.len() - KEY_BYTES
    }

    /// Whether this is the complete expected answer to a GET.
    #[inline]
    pub fn is_value(&self, key: u64, answer: &[u8]) -> bool {
        let head = self.answer_head.len();
        answer[..head] == *self.answer_head
            && self.values.matches(key, &answer[head..answer.len() - END.len()])
            && answer[answer.len() - END.len()..] == *END
    }
}
