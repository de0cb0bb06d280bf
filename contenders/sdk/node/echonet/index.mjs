// Support for contenders of the `echonet` workload: the twelve reads, the checks of their values, the closed loop of the
// controller with its counters, and the messages of the device to the lab. It opens no sockets.
//
//     const { lab, setup } = await begin({ name: "mine", version: "1.0.0", language: "javascript" });
//     await lab.listen(setup.role === "controller" ? new Controller(lab, setup, library) : new Device(lab, start));
//
// The contender provides `library` and `start`, which Controller and Device describe.
export { begin } from "./begin.mjs";
export { Controller } from "./controller.mjs";
export { Device } from "./device.mjs";
export { identification, LIGHTING, MANUFACTURER_CODE, NODE_PROFILE, READS } from "./reads.mjs";
