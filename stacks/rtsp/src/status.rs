//! Status codes.

macro_rules! statuses {
    ($($variant:ident = $code:literal $reason:literal,)*) => {
        /// The status of a response (RFC 2326 section 7.1.1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status {
            $(#[doc = concat!(stringify!($code), ": ", $reason)] $variant,)*
        }

        impl Status {
            /// The status code, three digits.
            pub fn code(self) -> u16 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// The reason phrase.
            pub fn reason(self) -> &'static str {
                match self {
                    $(Self::$variant => $reason,)*
                }
            }
        }
    };
}

statuses! {
    Ok = 200 "OK",
    BadRequest = 400 "Bad Request",
    NotFound = 404 "Not Found",
    MethodNotAllowed = 405 "Method Not Allowed",
    NotAcceptable = 406 "Not Acceptable",
    TooLarge = 413 "Request Entity Too Large",
    ParameterNotUnderstood = 451 "Parameter Not Understood",
    SessionNotFound = 454 "Session Not Found",
    NotValidInThisState = 455 "Method Not Valid in This State",
    AggregateNotAllowed = 459 "Aggregate Operation Not Allowed",
    UnsupportedTransport = 461 "Unsupported Transport",
    NotImplemented = 501 "Not Implemented",
    Unavailable = 503 "Service Unavailable",
    VersionNotSupported = 505 "RTSP Version Not Supported",
    OptionNotSupported = 551 "Option Not Supported",
}
