// What every contender of the `rtt` workload needs beside its sockets: the lanes of ping with their schedule, books and
// histograms, the counters of pong, and the background tasks of both. It opens no socket.
//
//     const { lab, setup } = await begin({ name: "mine", version: "1.0.0", language: "javascript" });
//     await lab.listen(setup.role === "ping" ? new Ping(lab, setup, dial) : new Pong(lab, setup, listen));
//
// `dial` and `listen` are the contender's, as Ping and Pong describe them.
export { begin } from "./begin.mjs";
export { nowNs } from "./clock.mjs";
export { Frames } from "./frames.mjs";
export { Ping } from "./ping.mjs";
export { Pong } from "./pong.mjs";
