// What every contender of the `echonet` workload needs beside its library: the twelve reads, what their values must be, the
// closed loop of controller with its books, and the lab's side of device. It opens no socket.
//
//     const { lab, setup } = await begin({ name: "mine", version: "1.0.0", language: "javascript" });
//     await lab.listen(setup.role === "controller" ? new Controller(lab, setup, library) : new Device(lab, start));
//
// `library` and `start` are the contender's, as Controller and Device describe them.
export { begin } from "./begin.mjs";
export { Controller } from "./controller.mjs";
export { Device } from "./device.mjs";
export { identification, LIGHTING, MANUFACTURER_CODE, NODE_PROFILE, READS } from "./reads.mjs";
