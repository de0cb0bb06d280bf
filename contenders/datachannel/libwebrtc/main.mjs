// Google's libwebrtc, through the Node bindings @roamhq/wrtc.
import { createRequire } from "node:module";
import { packageVersion, run } from "netdyno-contender/w3c-datachannel";

const require = createRequire(import.meta.url);
const { RTCPeerConnection } = require("@roamhq/wrtc");

await run({
  implementation: {
    name: "libwebrtc",
    version: packageVersion(require.resolve("@roamhq/wrtc/package.json")),
    language: "c++",
  },
  RTCPeerConnection,
  configuration: () => ({ iceServers: [] }),
  maxMessageBytes: 262_144,
  loopback: false,
  keepsBuffer: false,
});
