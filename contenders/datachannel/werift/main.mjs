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
  // werift passes over loopback, and over every interface whose name begins with "veth", unless told the address.
  configuration: ({ local }) => ({ iceServers: [], iceAdditionalHostAddresses: [local] }),
  maxMessageBytes: 65_536,
  loopback: true,
  keepsBuffer: true,
  // Its send queue costs time in the square of its length: at 1 MiB it starves its own consent checks and fails.
  maxQueuedMessages: 64,
});
