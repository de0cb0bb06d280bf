//! The client side of requests.

/// Appends a command, including its name, as an array of bulk strings.
///
/// ```
/// let mut out = Vec::new();
/// netdyno_resp::write_command(&mut out, &[b"GET", b"key"]);
/// assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
/// ```
pub fn write_command(out: &mut Vec<u8>, args: &[&[u8]]) {
    let mut reply = crate::Reply::new(out, crate::Protocol::Resp2);
    reply.array(args.len());
    for arg in args {
        reply.bulk(arg);
    }
}
