// What a contender written for Node needs: the conversation with the lab (contender.mjs), the payload and its
// checks (payload.mjs). `netdyno-contender/w3c-datachannel` is a whole `datachannel` contender for any library with
// the W3C API; `netdyno-contender/rtt` is all of an `rtt` contender but its sockets, and `netdyno-contender/echonet` all of an
// `echonet` contender but its library. The contract is contenders/PROTOCOL.md.
//
//     const { lab, setup } = await connect();
//     if (setup.role !== "sink") lab.unsupported(`no role ${setup.role}`);
//     lab.ready({ name: "mine", version: "1.0.0", language: "javascript", runtime: RUNTIME });
//     await lab.listen({ signal(from, body) {}, start(phase) {}, mark(id) {}, stop() {} });
export { connect, nowNs, MAX_LINE_BYTES, PROTOCOL_VERSION, RUNTIME } from "./contender.mjs";
export { Digest, fill, Gate, Receiver, totals } from "./payload.mjs";
export { HEADER_BYTES, MAX_MISSING, readHeader, writeHeader } from "./payload.mjs";
