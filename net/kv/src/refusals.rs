//! What is said to those who are not served.

/// As many clients as `maxclients`.
pub(crate) const FULL: &[u8] = b"-ERR max number of clients reached\r\n";

/// From another machine, and there is no password.
pub(crate) const PROTECTED: &[u8] = b"-DENIED This server is in protected mode: it has no password, and so serves only clients on its own \
machine. To serve others, either 1) set a password, with --requirepass at the start or by CONFIG SET requirepass from the machine itself; \
or 2) switch protected mode off, with --protected-mode no, if nobody but those you trust can reach this port.\r\n";
