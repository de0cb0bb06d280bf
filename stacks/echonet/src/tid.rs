//! The transaction identifier.

/// TID: chosen by the requester, repeated in the answer (ECHONET Lite Specification, Part 2, section 3.2.2).
/// All values are valid, including 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tid(pub u16);

impl Tid {
    /// The next identifier. 1 follows 0xFFFF, since some nodes use 0 for all their messages.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 == u16::MAX { Self(1) } else { Self(self.0 + 1) }
    }
}

impl core::fmt::Display for Tid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:04X}", self.0)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn after_the_last_comes_the_first_but_zero() {
        assert_eq!([Tid(0).next(), Tid(1).next(), Tid(u16::MAX).next()], [Tid(1), Tid(2), Tid(1)]);
        assert_eq!(Tid(0xAB).to_string(), "00AB");
    }
}
