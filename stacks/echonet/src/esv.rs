//! Services: the type of a message.

/// ESV (ECHONET Lite Specification, Part 2, section 3.2.5). Other values are reserved, and messages with them
/// are discarded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Esv {
    /// Write; answered only if it fails.
    SetI = 0x60,
    /// Write, with an answer.
    SetC = 0x61,
    /// Read.
    Get = 0x62,
    /// Request an announcement.
    InfReq = 0x63,
    /// Write, then read.
    SetGet = 0x6E,
    /// SetC succeeded.
    SetRes = 0x71,
    /// Get succeeded.
    GetRes = 0x72,
    /// An announcement, spontaneous or after InfReq.
    Inf = 0x73,
    /// An announcement to one node, which acknowledges it.
    InfC = 0x74,
    /// Acknowledges InfC.
    InfCRes = 0x7A,
    /// SetGet succeeded.
    SetGetRes = 0x7E,
    /// SetI failed, at least in part.
    SetISna = 0x50,
    /// SetC failed, at least in part.
    SetCSna = 0x51,
    /// Get failed, at least in part.
    GetSna = 0x52,
    /// InfReq failed, at least in part.
    InfSna = 0x53,
    /// SetGet failed, at least in part.
    SetGetSna = 0x5E,
}

impl Esv {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::SetI,
        Self::SetC,
        Self::Get,
        Self::InfReq,
        Self::SetGet,
        Self::SetRes,
        Self::GetRes,
        Self::Inf,
        Self::InfC,
        Self::InfCRes,
        Self::SetGetRes,
        Self::SetISna,
        Self::SetCSna,
        Self::GetSna,
        Self::InfSna,
        Self::SetGetSna,
    ];

    /// The service with this code, if there is one.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x60 => Self::SetI,
            0x61 => Self::SetC,
            0x62 => Self::Get,
            0x63 => Self::InfReq,
            0x6E => Self::SetGet,
            0x71 => Self::SetRes,
            0x72 => Self::GetRes,
            0x73 => Self::Inf,
            0x74 => Self::InfC,
            0x7A => Self::InfCRes,
            0x7E => Self::SetGetRes,
            0x50 => Self::SetISna,
            0x51 => Self::SetCSna,
            0x52 => Self::GetSna,
            0x53 => Self::InfSna,
            0x5E => Self::SetGetSna,
            _ => return None,
        })
    }

    /// The code of the service.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether the receiver must act on it; includes InfC, which expects an acknowledgement.
    pub const fn is_request(self) -> bool {
        matches!(self, Self::SetI | Self::SetC | Self::Get | Self::InfReq | Self::SetGet | Self::InfC)
    }

    /// Whether it reports a failure.
    pub const fn is_refusal(self) -> bool {
        self.code() & 0xF0 == 0x50
    }

    /// Whether there are two lists of properties.
    pub const fn has_get_list(self) -> bool {
        matches!(self, Self::SetGet | Self::SetGetRes | Self::SetGetSna)
    }

    /// The answer to a successful request. A successful SetI has none, and InfReq is answered by an
    /// announcement.
    pub const fn response(self) -> Option<Self> {
        Some(match self {
            Self::SetC => Self::SetRes,
            Self::Get => Self::GetRes,
            Self::InfReq => Self::Inf,
            Self::SetGet => Self::SetGetRes,
            Self::InfC => Self::InfCRes,
            _ => return None,
        })
    }

    /// The answer to a failed request.
    pub const fn refusal(self) -> Option<Self> {
        Some(match self {
            Self::SetI => Self::SetISna,
            Self::SetC => Self::SetCSna,
            Self::Get => Self::GetSna,
            Self::InfReq => Self::InfSna,
            Self::SetGet => Self::SetGetSna,
            _ => return None,
        })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn codes_and_services_belong_together() {
        let known: Vec<u8> = (0..=255).filter(|code| Esv::from_code(*code).is_some()).collect();
        let mut all = Esv::ALL.map(Esv::code);
        all.sort_unstable();
        assert_eq!(known, all);
        for esv in Esv::ALL {
            assert_eq!(Esv::from_code(esv.code()), Some(esv));
            assert!(esv.response().is_none_or(|response| !response.is_request() && !response.is_refusal()));
            assert!(esv.refusal().is_none_or(Esv::is_refusal));
            assert_eq!(esv.refusal().map(Esv::code), esv.refusal().map(|_| esv.code() - 0x10));
        }
    }
}
