// The library's device: it answers requests for the node profile itself, and calls a function for other objects.
import EL from "echonet-lite";
import { identification, LIGHTING, MANUFACTURER_CODE, NODE_PROFILE } from "netdyno-contender/echonet";

const objects = {
  [LIGHTING]: {
    80: [0x30],
    81: [0x00],
    82: [0x00, 0x00, 0x52, 0x00],
    88: [0x42],
    "8a": MANUFACTURER_CODE,
    "9d": [0x03, 0x80, 0x81, 0x88],
    "9e": [0x03, 0x80, 0x81, 0xb6],
    "9f": [0x09, 0x80, 0x81, 0x82, 0x88, 0x8a, 0x9d, 0x9e, 0x9f, 0xb6],
    b6: [0x41],
  },
};

export async function start({ seed }) {
  const receive = (from, message, error) => {
    if (error) throw error;
    if (message.DEOJ === NODE_PROFILE) return;
    if (message.ESV === EL.SETI || message.ESV === EL.SETC) EL.replySetDetail(from, message, objects);
    else if (message.ESV === EL.GET) EL.replyGetDetail(from, message, objects);
  };
  // The recommended options for devices.
  const socket = await EL.initialize(Object.keys(objects), receive, 4, { autoGetProperties: false });
  EL.Node_details["83"] = [...identification(seed)];
  EL.Node_details["8a"] = MANUFACTURER_CODE;
  if (!isBound(socket)) await new Promise((resolve) => socket.once("listening", resolve));
}

/** Whether the socket is bound: the library does not wait for it. */
function isBound(socket) {
  try {
    return socket.address().port > 0;
  } catch {
    return false;
  }
}
