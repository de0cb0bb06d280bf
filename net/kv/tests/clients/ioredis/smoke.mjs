// What programs on ioredis do, at the port that is given: `node smoke.mjs PORT`. Ends with 0 if all of it is as it should be.
import assert from "node:assert/strict";
import Redis from "ioredis";

const port = Number(process.argv[2]);
const client = new Redis({ port, lazyConnect: true });
await client.connect(); // Waits for INFO to say that nothing is being loaded.
await client.flushall();

// Strings of any bytes, counters, expiry.
const blob = Buffer.alloc(1 << 20, Buffer.from([0, 13, 10, 255]));
assert.equal(await client.set("blob", blob), "OK");
assert.ok(blob.equals(await client.getBuffer("blob")));
assert.equal(await client.set("once", "1", "EX", 60, "NX"), "OK");
assert.equal(await client.set("once", "2", "EX", 60, "NX"), null);
assert.equal(await client.incrby("count", 42), 42);
await assert.rejects(client.incr("blob"), /not an integer/);
await assert.rejects(client.lpush("blob", "x"), /WRONGTYPE/);
await assert.rejects(client.call("nonsense"), /unknown command/);

// Collections.
assert.equal(await client.hset("hash", { f: "1", g: "2" }), 2);
assert.deepEqual(await client.hgetall("hash"), { f: "1", g: "2" });
assert.equal(await client.rpush("list", "a", "b", "c"), 3);
assert.deepEqual(await client.lrange("list", 0, -1), ["a", "b", "c"]);
assert.equal(await client.sadd("set", "x", "y"), 2);
assert.deepEqual((await client.smembers("set")).sort(), ["x", "y"]);
assert.equal(await client.zadd("zset", 1, "one", 2.5, "more"), 2);
assert.deepEqual(await client.zrange("zset", 0, -1, "WITHSCORES"), ["one", "1", "more", "2.5"]);

// A pipeline, sent at once; the same by itself; a transaction.
const pipeline = client.pipeline();
for (let number = 0; number < 5000; number++) pipeline.set(`p:${number}`, number).get(`p:${number}`);
const answers = await pipeline.exec();
answers.forEach(([error, answer], index) => {
  assert.equal(error, null);
  assert.equal(answer, index % 2 === 0 ? "OK" : String((index - 1) / 2));
});
const all = await Promise.all(Array.from({ length: 1000 }, (_, number) => client.get(`p:${number}`)));
assert.deepEqual(all, Array.from({ length: 1000 }, (_, number) => String(number)));
assert.deepEqual(await client.multi().incr("count").incr("count").exec(), [[null, 43], [null, 44]]);
const found = new Set();
for await (const keys of client.scanStream({ match: "p:*", count: 100 })) keys.forEach((key) => found.add(key));
assert.equal(found.size, 5000);

// Publish and subscribe, and a pop that waits.
const subscriber = new Redis({ port });
const heard = new Promise((resolve) => subscriber.on("message", (channel, text) => resolve([channel, text])));
assert.equal(await subscriber.subscribe("news"), 1);
assert.equal(await client.publish("news", "hello"), 1);
assert.deepEqual(await heard, ["news", "hello"]);
const waiter = new Redis({ port });
const popped = waiter.blpop("queue", 5);
setTimeout(() => client.rpush("queue", "job"), 50);
assert.deepEqual(await popped, ["queue", "job"]);

// Comes back by itself after its connection was cut.
const id = await waiter.client("ID");
await client.client("KILL", "ID", id);
await new Promise((resolve) => waiter.once("ready", resolve));
assert.equal(await waiter.ping(), "PONG");

for (const connection of [waiter, subscriber, client]) assert.equal(await connection.quit(), "OK");
console.log("ioredis: as expected");
