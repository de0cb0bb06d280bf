// Datagrams of node:dgram. Errors of a socket have no listener, so they end the process with `failed`.
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import { nowNs } from "netdyno-contender/rtt";

const bound = ({ local }) =>
  new Promise((resolve) => {
    const socket = createSocket(isIPv6(local) ? "udp6" : "udp4");
    socket.bind(0, local, () => resolve(socket));
  });

/** Connects the socket of a lane of ping. */
export async function dial(setup, port, receive) {
  const socket = await bound(setup);
  socket.on("message", (message) => receive(message, nowNs()));
  await new Promise((resolve) => socket.connect(port, setup.peer, resolve));
  return (message) => socket.send(message);
}

/** Binds the socket of pong. */
export async function listen(setup, pong) {
  const socket = await bound(setup);
  socket.on("message", (message, from) => {
    pong.delay();
    pong.count(message.length);
    socket.send(message, from.port, from.address);
  });
  return socket.address().port;
}
