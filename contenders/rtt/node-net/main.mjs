// Node's sockets as a contender of the rtt workload, in both roles, on a single event loop.
import { begin, Ping, Pong } from "netdyno-contender/rtt";
import * as tcp from "./tcp.mjs";
import * as udp from "./udp.mjs";

const { lab, setup } = await begin({ name: "Node", version: process.versions.node, language: "javascript" });
const { dial, listen } = setup.params.transport === "udp" ? udp : tcp;
await lab.listen(setup.role === "ping" ? new Ping(lab, setup, dial) : new Pong(lab, setup, listen));
