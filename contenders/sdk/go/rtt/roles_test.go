package rtt

import (
	"encoding/json"
	"testing"
	"time"

	"netdyno.dev/contender"
)

func TestTaskStep(t *testing.T) {
	all := newTasks(10_000)
	for i, want := range map[int]uint32{0: 147405559, 1: 3095973319, 9_999: 2827756547} {
		if all[i].step(); all[i].x != want {
			t.Errorf("task %d: %d, not %d", i, all[i].x, want)
		}
	}
}

func TestTasksRun(t *testing.T) {
	all := newTasks(3)
	all.start()
	for end := time.Now().Add(10 * time.Second); all.runs() < 6; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d runs", all.runs())
		}
	}
}

func TestPongCounts(t *testing.T) {
	pong := NewPong(Params{EchoDelayNs: 100_000})
	first, second := pong.Echoes(), pong.Echoes()
	first.Count(64)
	second.Count(64)
	second.Count(10)
	if values := pong.values(); values["messages"] != 3 || values["bytes"] != 138 {
		t.Error(values)
	}
	begunNs := NowNs()
	if first.Delay(); NowNs()-begunNs < 100_000 {
		t.Error("no delay")
	}
}

func TestAt(t *testing.T) {
	for _, wait := range []int64{-1000, 0, 1_000_000_000} {
		ns := NowNs() + wait
		if left := time.Until(At(ns)); left > time.Duration(wait) || left < time.Duration(ns-NowNs()) {
			t.Errorf("in %d ns: in %v", wait, left)
		}
	}
}

func TestHello(t *testing.T) {
	ping := newTestPing(0, 1)
	hello := ping.Hello()
	if _, sequence, ok := contender.ReadHeader(hello); len(hello) != 20 || sequence != helloSequence || !ok {
		t.Error(hello)
	}
	if err := ping.CheckHello(hello); err != nil {
		t.Error(err)
	}
	for _, echo := range [][]byte{nil, hello[:19], make([]byte, 20)} {
		if ping.CheckHello(echo) == nil {
			t.Errorf("%v was accepted", echo)
		}
	}
}

func TestPort(t *testing.T) {
	for body, want := range map[string]uint16{
		`{"port":7}`: 7, `{"port":65535}`: 65535, `{"port":0}`: 0, `{"port":65536}`: 0, `{}`: 0, `3`: 0,
	} {
		port, err := readPort(contender.Signal{Body: json.RawMessage(body)})
		if (err == nil) != (want != 0) || err == nil && port != want {
			t.Errorf("%s: %d, %v", body, port, err)
		}
	}
}
