//! Request methods.

macro_rules! methods {
    ($($variant:ident = $text:literal,)*) => {
        /// The method of a request (RFC 2326 section 10).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// A method that RFC 2326 does not define.
            Unknown,
        }

        impl Method {
            pub(crate) fn from_name(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)*
                    _ => Self::Unknown,
                }
            }
        }
    };
}

methods! {
    Options = "OPTIONS",
    Describe = "DESCRIBE",
    Setup = "SETUP",
    Play = "PLAY",
    Pause = "PAUSE",
    Teardown = "TEARDOWN",
    GetParameter = "GET_PARAMETER",
    SetParameter = "SET_PARAMETER",
    Announce = "ANNOUNCE",
    Record = "RECORD",
    Redirect = "REDIRECT",
}
