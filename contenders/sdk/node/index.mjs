// Support for contenders on Node: the contender protocol (contender.mjs), and the payload with its checks (payload.mjs).
// `netdyno-contender/w3c-datachannel` is a complete `datachannel` contender for any library with the W3C API.
// `netdyno-contender/rtt` implements an `rtt` contender except its sockets, and `netdyno-contender/echonet` an `echonet`
// contender except its library. contenders/PROTOCOL.md specifies the protocol.
//
//     const { lab, setup } = await connect();
//     if (setup.role !== "sink") lab.unsupported(`no role ${setup.role}`);
//     lab.ready({ name: "mine", version: "1.0.0", language: "javascript", runtime: RUNTIME });
//     await lab.listen({ signal(from, body) {}, start(phase) {}, mark(id) {}, stop() {} });
export { connect, nowNs, MAX_LINE_BYTES, PROTOCOL_VERSION, RUNTIME } from "./contender.mjs";
export { Digest, fill, Gate, Receiver, totals } from "./payload.mjs";
export { HEADER_BYTES, MAX_MISSING, readHeader, writeHeader } from "./payload.mjs";
