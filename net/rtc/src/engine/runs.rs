//! Compacts the datagrams of a buffer, so that they can be passed on as one batch.

use std::net::SocketAddr;
use std::ops::Range;

/// Adjacent datagrams of one sender and one length; the last may be shorter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) remote: SocketAddr,
    pub(super) range: Range<usize>,
    pub(super) segment_bytes: usize,
}

/// All runs of a buffer.
#[derive(Debug, Default)]
pub(super) struct Runs {
    list: Vec<Run>,
    /// The last datagram was as long as those before.
    is_open: bool,
}

impl Runs {
    /// Adds a datagram, which lies behind all others in the buffer.
    pub(super) fn push(&mut self, bytes: &mut [u8], remote: SocketAddr, part: Range<usize>) {
        let length = part.len();
        let takes = |run: &&mut Run| self.is_open && run.remote == remote && length <= run.segment_bytes;
        match self.list.last_mut().filter(takes) {
            Some(run) => {
                bytes.copy_within(part, run.range.end);
                run.range.end += length;
                self.is_open = length == run.segment_bytes;
            }
            None => {
                self.list.push(Run { remote, range: part, segment_bytes: length.max(1) });
                self.is_open = length > 0;
            }
        }
    }
}

impl IntoIterator for Runs {
    type Item = Run;
    type IntoIter = std::vec::IntoIter<Run>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_one_length_and_sender_are_merged() {
        let [one, other]: [SocketAddr; 2] = [1, 2].map(|port| ([192, 0, 2, 1], port).into());
        let mut bytes = *b"..aaa..bbb..c...ddd..ee.fff";
        let mut runs = Runs::default();
        for (remote, part) in
            [(one, 2..5), (one, 7..10), (one, 12..13), (one, 16..19), (other, 21..23), (other, 24..27)]
        {
            runs.push(&mut bytes, remote, part);
        }
        let run = |remote, range, segment_bytes| Run { remote, range, segment_bytes };
        let list: Vec<_> = runs.into_iter().collect();
        assert_eq!(
            list,
            [run(one, 2..9, 3), run(one, 16..19, 3), run(other, 21..23, 2), run(other, 24..27, 3)]
        );
        assert_eq!(&bytes[2..9], b"aaabbbc");
    }
}
