package rtt

import (
	"encoding/json"
	"testing"

	"netdyno.dev/contender"
)

const verifyMessages = 2

// newTestPing returns a ping in which all phases have started, with warmup at 0, and whose lanes have verified nothing.
func newTestPing(rate int64, outstanding int) *Ping {
	params := Params{
		Transport: "udp", Pacing: "spin", MessageBytes: 20, Rate: rate, Outstanding: outstanding,
		TimeoutMs: 200, Seconds: 1, VerifyMessages: verifyMessages,
	}
	ping := NewPing(contender.Setup{Seed: 1}, params)
	close(ping.verify)
	close(ping.warmup)
	return ping
}

// echoOf returns the echo of a request.
func echoOf(lane *Lane, stream uint32, sequence uint64) []byte {
	echo := append([]byte(nil), lane.request...)
	contender.WriteHeader(echo, stream, sequence)
	return echo
}

func TestClassification(t *testing.T) {
	for _, test := range []struct {
		name          string
		stream        uint32
		sequence      uint64
		change        func([]byte) []byte
		done          bool
		late, strange uint64
	}{
		{"awaited echo", 1, 5, nil, true, 0, 0},
		{"echo of an earlier request", 1, 4, nil, false, 1, 0},
		{"echo of verify", 1, 0, nil, false, 1, 0},
		{"a hello", 0, helloSequence, nil, false, 0, 0},
		{"hello of another stream", 1, helloSequence, nil, false, 0, 1},
		{"short hello", 0, helloSequence, func(echo []byte) []byte { return echo[:19] }, false, 0, 1},
		{"echo of a future request", 1, 6, nil, false, 0, 1},
		{"echo of another lane", 0, 5, nil, false, 0, 1},
		{"short echo", 1, 5, func(echo []byte) []byte { return echo[:19] }, false, 0, 1},
		{"shorter than a header", 1, 5, func(echo []byte) []byte { return echo[:3] }, false, 0, 1},
		{"nothing", 1, 5, func([]byte) []byte { return nil }, false, 0, 1},
		{"long echo", 1, 5, func(echo []byte) []byte { return append(echo, 0) }, false, 0, 1},
		{"nonzero field of the header", 1, 5, func(echo []byte) []byte { echo[15] = 1; return echo }, false, 0, 1},
		{"different body after verify", 1, 5, func(echo []byte) []byte { echo[19] ^= 1; return echo }, true, 0, 0},
	} {
		lane := newTestPing(0, 2).lanes[1]
		lane.sequence = 5
		lane.Next()
		lane.Sent(lane.Wait())
		echo := echoOf(lane, test.stream, test.sequence)
		if test.change != nil {
			echo = test.change(echo)
		}
		done, err := lane.Take(echo, NowNs())
		if done != test.done || err != nil || lane.late.Load() != test.late || lane.strange.Load() != test.strange {
			t.Errorf("%s: done %t, %v, late %d, strange %d", test.name, done, err, lane.late.Load(), lane.strange.Load())
		}
		if (lane.messages.Load() == 1) != test.done || (lane.sequence == 6) != test.done || lane.requests.Load() != 1 {
			t.Errorf("%s: %d messages, next sequence %d", test.name, lane.messages.Load(), lane.sequence)
		}
	}
}

func TestVerify(t *testing.T) {
	ping := newTestPing(0, 3)
	var digest contender.Digest
	for _, lane := range ping.lanes {
		for range verifyMessages {
			request := lane.Next()
			if !contender.Matches(request, 1, lane.stream, lane.sequence) {
				t.Errorf("lane %d, request %d is not derived from the seed", lane.stream, lane.sequence)
			}
			lane.Sent(lane.Wait())
			digest.Add(request)
			if done, err := lane.Take(request, NowNs()); !done || err != nil {
				t.Error(done, err)
			}
		}
		lane.Next()
	}
	<-ping.complete
	if ping.digest != digest || ping.echoes != 3*verifyMessages {
		t.Errorf("%v of %d", ping.digest, ping.echoes)
	}
}

func TestVerifyComparesEveryByte(t *testing.T) {
	lane := newTestPing(0, 1).lanes[0]
	lane.Next()
	lane.Sent(lane.Wait())
	for i := contender.HeaderBytes; i < len(lane.request); i++ {
		echo := echoOf(lane, 0, 0)
		echo[i] ^= 1
		if _, err := lane.Take(echo, NowNs()); err == nil {
			t.Errorf("byte %d is not compared", i)
		}
	}
}

func TestLost(t *testing.T) {
	lane := newTestPing(0, 1).lanes[0]
	lane.sequence = 5
	lane.Next()
	lane.Sent(1000)
	if lane.Lost(1000 + 199_999_999) {
		t.Error("lost too early")
	}
	if !lane.Lost(1000+200_000_000) || lane.lost.Load() != 1 {
		t.Error("not lost")
	}
	lane.Next()
	if done, _ := lane.Take(echoOf(lane, 0, 5), NowNs()); done || lane.late.Load() != 1 {
		t.Error("the echo of a lost request is not late")
	}
	if done, _ := lane.Take(echoOf(lane, 0, 6), NowNs()); !done {
		t.Error("the lane does not continue")
	}
}

func TestOnlyTheWindowIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name                 string
		measureNs, receiveNs int64
		booked               int64
	}{
		{"at the start", 5000, 5000, 1},
		{"before it", 5000, 4999, 0},
		{"at the end", 5000, 5000 + second - 1, 1},
		{"after it", 5000, 5000 + second, 0},
	} {
		for _, rate := range []int64{0, 1000} {
			ping := newTestPing(rate, 1)
			lane := ping.lanes[0]
			lane.sequence = verifyMessages + 1
			ping.measureNs.Store(test.measureNs)
			lane.sentNs = 1
			if done, _ := lane.Take(echoOf(lane, 0, lane.sequence), test.receiveNs); !done {
				t.Error("not taken")
			}
			if count := lane.shard.latency.TotalCount(); count != test.booked {
				t.Errorf("%s, rate %d: %d", test.name, rate, count)
			}
			if count := lane.shard.service.TotalCount(); count != test.booked*min(rate, 1) {
				t.Errorf("%s, rate %d: %d samples of service", test.name, rate, count)
			}
		}
	}
	if newTestPing(0, 1).measured(NowNs()) {
		t.Error("recorded before the phase measure")
	}
}

func TestNoAllocationPerRequest(t *testing.T) {
	lane := newTestPing(1_000_000, 1).lanes[0]
	lane.sequence = verifyMessages + 1
	lane.ping.measureNs.Store(0)
	if count := testing.AllocsPerRun(1000, func() {
		request := lane.Next()
		lane.Sent(lane.Wait())
		if done, err := lane.Take(request, NowNs()); !done || err != nil {
			t.Fatal(done, err)
		}
	}); count != 0 {
		t.Errorf("%v allocations per request", count)
	}
}

func TestParametersOutOfRange(t *testing.T) {
	good := map[string]any{
		"transport": "udp", "message_bytes": 64, "rate": 0, "outstanding": 1, "tasks": 0, "pacing": "spin",
		"echo_delay_ns": 0, "timeout_ms": 200, "seconds": 2.0, "verify_messages": 64, "warmup_seconds": 0.5,
	}
	check := func(params map[string]any) error {
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadParams(contender.Setup{Params: text})
		return err
	}
	if err := check(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		name  string
		value any
	}{
		{"transport", "sctp"}, {"pacing", ""}, {"message_bytes", 15}, {"message_bytes", 60_001}, {"rate", -1},
		{"rate", 1_000_001}, {"outstanding", 0}, {"outstanding", 1_001}, {"tasks", 10_001}, {"echo_delay_ns", -1},
		{"timeout_ms", 99}, {"seconds", 0.1}, {"seconds", 3601}, {"verify_messages", 0},
		{"verify_messages", uint64(1) << 63}, {"verify_messages", -1}, {"rate", "x"},
	} {
		params := map[string]any{}
		for name, value := range good {
			params[name] = value
		}
		params[bad.name] = bad.value
		if check(params) == nil {
			t.Errorf("%s: %v was accepted", bad.name, bad.value)
		}
	}
}
