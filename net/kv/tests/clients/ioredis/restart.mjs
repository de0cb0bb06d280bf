// ioredis across a kill and restart of the server: `node restart.mjs PROGRAM FOLDER PORT`. Exits with 0 if the client reconnects by
// itself, sends what was queued meanwhile, subscribes again, and finds every acknowledged write. The port must not be in the range of
// ephemeral ports: while the server is down, a client could connect to itself there and keep the port.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createConnection } from "node:net";
import Redis from "ioredis";

const [program, folder, port] = process.argv.slice(2);
// `once` of node:events would also reject on errors, which a lost connection causes.
const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

// Guards against hanging.
setTimeout(() => {
  console.error("ioredis: not finished after 100 s");
  process.exit(1);
}, 100_000).unref();

let server;
process.on("exit", () => server?.kill("SIGKILL"));

function connects() {
  const probe = createConnection(port, "127.0.0.1");
  const result = Promise.race([event(probe, "connect").then(() => true), event(probe, "error").then(() => false)]);
  return result.finally(() => probe.destroy());
}

async function start() {
  const options = ["--port", port, "--appendonly", "yes", "--appendfilename", "ioredis.aof", "--dir", folder];
  server = spawn(program, options, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  server.stderr.on("data", (text) => (log += text));
  const ended = event(server, "exit").then(() => assert.fail(`the server has ended: ${log}`));
  while (!(await Promise.race([connects(), ended]))) await new Promise((resolve) => setTimeout(resolve, 10));
  ended.catch(() => {});
}

async function kill() {
  const exited = event(server, "exit");
  server.kill("SIGKILL");
  await exited;
}

await start();
const options = { port, retryStrategy: () => 20, maxRetriesPerRequest: null };
const [client, subscriber] = [new Redis(options), new Redis(options)];
// Without a listener, errors of a lost connection are printed.
for (const connection of [client, subscriber]) connection.on("error", () => {});
const messages = [];
subscriber.on("message", (channel, text) => messages.push(`${channel}:${text}`));
await subscriber.subscribe("news");

let acknowledged = 0;
for (let round = 0; round < 3; round++) {
  const pipeline = client.pipeline();
  for (let number = 0; number < 500; number++) pipeline.set(`key:${acknowledged + number}`, acknowledged + number);
  const results = await pipeline.exec();
  assert.ok(results.every(([error, answer]) => error === null && answer === "OK"));
  acknowledged += results.length;
  assert.deepEqual(await client.multi().incr("transactions").rpush("rounds", round).exec(), [[null, round + 1], [null, round + 1]]);

  const ready = [client, subscriber].map((connection) => event(connection, "ready"));
  await kill();
  // Queued until the connection is back.
  const queued = client.set(`queued:${round}`, "yes");
  await start();
  assert.equal(await queued, "OK");
  await Promise.all(ready);

  const keys = Array.from({ length: acknowledged }, (_, number) => `key:${number}`);
  assert.deepEqual(await client.mget(keys), keys.map((_, number) => String(number)));
  assert.equal(await client.get("transactions"), String(round + 1));
  assert.equal(await client.llen("rounds"), round + 1);
  // Subscribed again by the client, after it is ready.
  while ((await client.publish("news", round)) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  while (!messages.includes(`news:${round}`)) await new Promise((resolve) => setTimeout(resolve, 5));
}
assert.equal(await client.select(1), "OK");
assert.equal(await client.dbsize(), 0);
client.disconnect();
subscriber.disconnect();
await kill();
console.log(`ioredis: ${acknowledged} writes, 3 kills: none lost`);
