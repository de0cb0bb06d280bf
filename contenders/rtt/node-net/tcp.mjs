// Streams by node:net. What a connection of ping emits as an error ends the process as failed.
import { connect, createServer } from "node:net";
import { Frames, nowNs } from "netdyno-contender/rtt";

/** How a connection of pong ends when ping, which is stopped first, is gone. */
const GONE = ["ECONNRESET", "EPIPE"];

/** A connection for a lane of ping. */
export async function dial({ local, peer, params }, port, receive) {
  const socket = connect({ host: peer, port, localAddress: local, noDelay: true });
  const frames = new Frames(params.message_bytes, receive);
  socket.on("data", (chunk) => frames.push(chunk, nowNs()));
  socket.on("end", () => socket.destroy(new Error("pong has closed a connection")));
  await new Promise((resolve) => socket.once("connect", resolve));
  return (message) => socket.write(message);
}

/** The listener of pong. */
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
