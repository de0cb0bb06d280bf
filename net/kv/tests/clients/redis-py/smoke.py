"""What programs on redis-py do, at the port that is given: `smoke.py PORT`. Ends with 0 if all of it is as it should be."""

import sys
import threading

import redis


def suite(protocol: int) -> None:
    client = redis.Redis(port=int(sys.argv[1]), protocol=protocol, decode_responses=False)
    client.flushall()
    assert client.ping() is True

    # Strings of any bytes, expiry, counters.
    blob = bytes(range(256)) * 4096
    assert client.set("blob", blob) and client.get("blob") == blob
    assert client.set("once", b"1", nx=True) is True and client.set("once", b"2", nx=True) is None
    assert client.set("once", b"3", get=True) == b"1"
    assert client.set("brief", b"x", px=60_000) and 0 < client.pttl("brief") <= 60_000
    assert client.incrby("count", 41) == 41 and client.incr("count") == 42
    assert client.incrbyfloat("float", 1.5) == 1.5
    assert client.mset({"a": "1", "b": "2"}) and client.mget("a", "b", "none") == [b"1", b"2", None]
    try:
        client.incr("blob")
        raise AssertionError("INCR of no number")
    except redis.ResponseError as error:
        assert "not an integer" in str(error), error
    try:
        client.lpush("blob", 1)
        raise AssertionError("LPUSH to a string")
    except redis.ResponseError as error:
        assert "WRONGTYPE" in str(error), error

    # Collections.
    assert client.hset("hash", mapping={"f": "1", "g": "2"}) == 2
    assert client.hgetall("hash") == {b"f": b"1", b"g": b"2"}
    assert client.hincrby("hash", "f", 9) == 10
    assert client.rpush("list", *range(100)) == 100 and client.lrange("list", 0, 2) == [b"0", b"1", b"2"]
    assert client.lpop("list", 2) == [b"0", b"1"] and client.llen("list") == 98
    assert client.sadd("set", *range(1000)) == 1000 and client.sismember("set", 7) == 1
    assert client.zadd("zset", {"one": 1, "two": 2, "three": 3}) == 3
    assert client.zrange("zset", 0, -1, withscores=True) in (
        [(b"one", 1.0), (b"two", 2.0), (b"three", 3.0)],
        [[b"one", 1.0], [b"two", 2.0], [b"three", 3.0]],
    )
    assert client.zrank("zset", "three") == 2 and client.zscore("zset", "two") == 2.0
    assert client.setbit("bits", 7, 1) == 0 and client.bitcount("bits") == 1
    assert {int(member) for member in client.sscan_iter("set", count=10)} == set(range(1000))
    for number in range(300):
        client.set(f"scan:{number}", number)
    assert len(set(client.scan_iter("scan:*", count=7))) == 300

    # Pipelines, transactions, optimistic locking.
    pipeline = client.pipeline(transaction=False)
    for number in range(10_000):
        pipeline.set(f"p:{number}", number)
        pipeline.get(f"p:{number}")
    answers = pipeline.execute()
    assert answers[1::2] == [str(number).encode() for number in range(10_000)]
    with client.pipeline() as transaction:
        transaction.watch("count")
        transaction.multi()
        transaction.incr("count")
        client.incr("count")
        try:
            transaction.execute()
            raise AssertionError("a watched key was changed")
        except redis.WatchError:
            pass
    assert client.get("count") == b"43"

    # Publish and subscribe, and a pop that waits.
    subscriber = client.pubsub()
    subscriber.subscribe("news")
    subscriber.psubscribe("n*")
    assert subscriber.get_message(timeout=5)["type"] == "subscribe"
    assert subscriber.get_message(timeout=5)["type"] == "psubscribe"
    assert client.publish("news", b"hello") == 2
    kinds = {subscriber.get_message(timeout=5)["type"] for _ in range(2)}
    assert kinds == {"message", "pmessage"}, kinds
    subscriber.close()
    threading.Timer(0.05, lambda: client.rpush("queue", "job")).start()
    assert client.blpop("queue", timeout=5) in ((b"queue", b"job"), [b"queue", b"job"])
    assert client.blpop("queue", timeout=0.1) is None

    # The server itself.
    assert "redis_version" in client.info("server")
    assert client.config_get("maxmemory")
    client.client_setname("smoke")
    assert client.client_getname() in (b"smoke", "smoke")
    assert client.delete("blob", "none") == 1 and client.exists("blob") == 0
    assert client.type("zset") == b"zset"
    assert client.dbsize() > 10_000
    client.close()


for version in (2, 3):
    suite(version)
print(f"redis-py {redis.__version__}: as expected")
