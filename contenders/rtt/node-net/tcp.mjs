// Streams of node:net. An error event of a connection of ping ends the process with `failed`.
import { connect, createServer } from "node:net";
import { Frames, nowNs } from "netdyno-contender/rtt";

/** The errors of a connection of pong after ping has ended, which the lab stops first. */
const GONE = ["ECONNRESET", "EPIPE"];

/** Connects a lane of ping. */
export async function dial({ local, peer, params }, port, receive) {
  const socket = connect({ host: peer, port, localAddress: local, noDelay: true });
  const frames = new Frames(params.message_bytes, receive);
  socket.on("data", (chunk) => frames.push(chunk, nowNs()));
  socket.on("end", () => socket.destroy(new Error("pong closed a connection")));
  await new Promise((resolve) => socket.once("connect", resolve));
  return (message) => socket.write(message);
}

/** Starts the listener of pong. */
export async function listen({ local, params }, pong) {
  const server = createServer({ noDelay: true }, (socket) => {
    const frames = new Frames(params.message_bytes, (message) => {
      pong.delay();
      pong.count(message.length);
      socket.write(message);
    });
    socket.on("data", (chunk) => frames.push(chunk));
    socket.on("error", (error) => {
      if (!GONE.includes(error.code)) throw error;
    });
  });
  await new Promise((resolve) => server.listen(0, local, resolve));
  return server.address().port;
}
