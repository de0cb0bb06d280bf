// What programs on go-redis do, at the port that is given: `smoke PORT`. Ends with 0 if all of it is as it should be.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	for _, protocol := range []int{2, 3} {
		if err := suite(os.Args[1], protocol); err != nil {
			fmt.Fprintf(os.Stderr, "RESP%d: %v\n", protocol, err)
			os.Exit(1)
		}
	}
	fmt.Println("go-redis", redis.Version(), "as expected")
}

// checker keeps the first thing that was not as expected.
type checker struct{ first error }

func (c *checker) equal(what string, got, want any) {
	if c.first == nil && !reflect.DeepEqual(got, want) {
		c.first = fmt.Errorf("%s: %v instead of %v", what, got, want)
	}
}

func (c *checker) fails(what string, err error, with string) {
	if c.first == nil && (err == nil || !strings.Contains(err.Error(), with)) {
		c.first = fmt.Errorf("%s: %v instead of an error with %q", what, err, with)
	}
}

func suite(port string, protocol int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, Protocol: protocol, ClientName: "smoke"})
	defer client.Close()
	c := &checker{}
	c.equal("FLUSHALL", client.FlushAll(ctx).Val(), "OK")
	c.equal("PING", client.Ping(ctx).Val(), "PONG")
	texts(ctx, c, client)
	collections(ctx, c, client)
	together(ctx, c, client)
	waiting(ctx, c, client)
	return c.first
}

func texts(ctx context.Context, c *checker, client *redis.Client) {
	blob := string(bytes.Repeat([]byte{0, '\r', '\n', 255}, 1<<18))
	c.equal("SET", client.Set(ctx, "blob", blob, 0).Val(), "OK")
	c.equal("GET", client.Get(ctx, "blob").Val() == blob, true)
	c.equal("GET of nothing", client.Get(ctx, "none").Err(), redis.Nil)
	c.equal("SETNX", client.SetNX(ctx, "once", 1, time.Minute).Val(), true)
	c.equal("SETNX again", client.SetNX(ctx, "once", 2, time.Minute).Val(), false)
	ttl := client.TTL(ctx, "once").Val()
	c.equal("TTL", ttl > 0 && ttl <= time.Minute, true)
	c.equal("INCRBY", client.IncrBy(ctx, "count", 42).Val(), int64(42))
	c.fails("INCR of no number", client.Incr(ctx, "blob").Err(), "not an integer")
	c.fails("LPUSH to a string", client.LPush(ctx, "blob", 1).Err(), "WRONGTYPE")
	c.fails("no command", client.Do(ctx, "nonsense").Err(), "unknown command")
}

func collections(ctx context.Context, c *checker, client *redis.Client) {
	c.equal("HSET", client.HSet(ctx, "hash", "f", 1, "g", 2).Val(), int64(2))
	c.equal("HGETALL", client.HGetAll(ctx, "hash").Val(), map[string]string{"f": "1", "g": "2"})
	c.equal("RPUSH", client.RPush(ctx, "list", "a", "b", "c").Val(), int64(3))
	c.equal("LRANGE", client.LRange(ctx, "list", 0, -1).Val(), []string{"a", "b", "c"})
	c.equal("SADD", client.SAdd(ctx, "set", "x", "y").Val(), int64(2))
	c.equal("SMEMBERS", len(client.SMembersMap(ctx, "set").Val()), 2)
	scored := []redis.Z{{Score: 1, Member: "one"}, {Score: 2.5, Member: "more"}}
	c.equal("ZADD", client.ZAdd(ctx, "zset", scored...).Val(), int64(2))
	c.equal("ZRANGE", client.ZRangeWithScores(ctx, "zset", 0, -1).Val(), scored)
	for number := range 500 {
		client.Set(ctx, fmt.Sprintf("scan:%d", number), number, 0)
	}
	found := map[string]bool{}
	for keys := client.Scan(ctx, 0, "scan:*", 10).Iterator(); keys.Next(ctx); {
		found[keys.Val()] = true
	}
	c.equal("SCAN", len(found), 500)
}

// together: pipelines, transactions, and a counter that many raise by optimistic locking.
func together(ctx context.Context, c *checker, client *redis.Client) {
	answers, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for number := range 5000 {
			pipe.Set(ctx, fmt.Sprintf("p:%d", number), number, 0)
		}
		return nil
	})
	c.equal("pipeline", []any{len(answers), err}, []any{5000, error(nil)})
	answers, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Incr(ctx, "count")
		pipe.Incr(ctx, "count")
		return nil
	})
	c.equal("transaction", []any{len(answers), err}, []any{2, error(nil)})
	raise := func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, "raced").Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "raced", value+1, 0)
			return nil
		})
		return err
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for done := 0; done < 20; {
				if err := client.Watch(ctx, raise, "raced"); err == nil {
					done++
				} else if !errors.Is(err, redis.TxFailedErr) {
					return
				}
			}
		})
	}
	group.Wait()
	c.equal("WATCH by ten at once", client.Get(ctx, "raced").Val(), "200")
}

func waiting(ctx context.Context, c *checker, client *redis.Client) {
	subscriber := client.Subscribe(ctx, "news")
	defer subscriber.Close()
	_, err := subscriber.Receive(ctx)
	c.equal("SUBSCRIBE", err, error(nil))
	c.equal("PUBLISH", client.Publish(ctx, "news", "hello").Val(), int64(1))
	message, err := subscriber.ReceiveMessage(ctx)
	c.equal("message", []any{message != nil && message.Payload == "hello", err}, []any{true, error(nil)})
	time.AfterFunc(50*time.Millisecond, func() { client.RPush(ctx, "queue", "job") })
	c.equal("BLPOP", client.BLPop(ctx, 5*time.Second, "queue").Val(), []string{"queue", "job"})
	c.equal("BLPOP of nothing", client.BLPop(ctx, time.Second, "queue").Err(), redis.Nil)
}
