// werift, WebRTC in TypeScript.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { RTCPeerConnection } from "werift";
import { packageVersion, run } from "netdyno-contender/w3c-datachannel";

const require = createRequire(import.meta.url);
const entry = require.resolve("werift"); // its package.json is not exported
await run({
  implementation: {
    name: "werift",
    version: packageVersion(join(dirname(entry), "../../../package.json")),
    language: "typescript",
  },
  RTCPeerConnection,
  // werift ignores loopback and every interface whose name begins with "veth", unless the address is configured.
  configuration: ({ local }) => ({ iceServers: [], iceAdditionalHostAddresses: [local] }),
  maxMessageBytes: 65_536,
  loopback: true,
  keepsBuffer: true,
  // The send queue takes quadratic time: at 1 MiB, it delays consent checks until connections fail.
  maxQueuedMessages: 64,
});
