// Support for contenders of the `rtt` workload: the lanes of ping with their schedule, counters and histograms, the counters
// of pong, and the background tasks of both. It opens no sockets.
//
//     const { lab, setup } = await begin({ name: "mine", version: "1.0.0", language: "javascript" });
//     await lab.listen(setup.role === "ping" ? new Ping(lab, setup, dial) : new Pong(lab, setup, listen));
//
// The contender provides `dial` and `listen`, which Ping and Pong describe.
export { begin } from "./begin.mjs";
export { nowNs } from "./clock.mjs";
export { Frames } from "./frames.mjs";
export { Ping } from "./ping.mjs";
export { Pong } from "./pong.mjs";
