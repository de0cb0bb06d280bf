// echonet-lite as a contender of the echonet workload, in both roles, used as in its README.
import { createRequire } from "node:module";
import { begin, Controller, Device } from "netdyno-contender/echonet";
import { library } from "./controller.mjs";
import { start } from "./device.mjs";

const { version } = createRequire(import.meta.url)("echonet-lite/package.json");
const { lab, setup } = await begin({ name: "echonet-lite", version, language: "javascript" });
await lab.listen(setup.role === "controller" ? new Controller(lab, setup, library(setup)) : new Device(lab, () => start(setup)));
