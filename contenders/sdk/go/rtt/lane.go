package rtt

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"netdyno.dev/contender"
)

// helloSequence is the sequence number of the message that sets up a lane.
const helloSequence = ^uint64(0)

// Lane is one socket of ping and its outstanding request. It is used by one goroutine; any goroutine may read its counters.
type Lane struct {
	ping     *Ping
	shard    *shard
	stream   uint32
	sequence uint64 // of the outstanding request, or else of the next
	request  []byte
	dueNs    int64 // 0 if the request is not scheduled
	sentNs   int64

	requests, messages, lost, late, strange atomic.Uint64
}

// Next returns the next request. Its bytes are valid until the next call. It waits for the phase of the request, and in
// verify also until few enough lanes are active.
func (l *Lane) Next() []byte {
	verify := l.ping.params.VerifyMessages
	switch l.sequence {
	case 0:
		<-l.ping.verify
		l.ping.turns <- struct{}{}
	case verify:
		l.ping.endTurn()
		<-l.ping.warmup
	}
	if l.sequence < verify {
		contender.Fill(l.request, l.ping.seed, l.stream, l.sequence)
		return l.request
	}
	contender.WriteHeader(l.request, l.stream, l.sequence)
	if plan := l.ping.schedule; plan.paced() {
		l.dueNs = l.ping.beganNs + plan.dueNs(int64(l.stream), int64(l.sequence-verify))
	}
	return l.request
}

// DueNs returns when the next request is due, or 0 if it is not scheduled.
func (l *Lane) DueNs() int64 { return l.dueNs }

// Wait waits until a scheduled request is due and returns the last reading of the clock. The caller then sends the request.
func (l *Lane) Wait() (sentNs int64) {
	for {
		now := NowNs()
		switch {
		case now >= l.dueNs:
			return now
		case l.ping.sleeps:
			time.Sleep(time.Duration(l.dueNs - now))
		default:
			runtime.Gosched()
		}
	}
}

// Sent records the time at which the request was sent.
func (l *Lane) Sent(sentNs int64) {
	l.sentNs = sentNs
	l.requests.Add(1)
}

// Take classifies a received message. done is true if it is the awaited echo: the lane continues with the next request. An
// error ends the contender.
func (l *Lane) Take(echo []byte, receivedNs int64) (done bool, err error) {
	stream, sequence, ok := contender.ReadHeader(echo)
	ok = ok && len(echo) == len(l.request)
	switch {
	case ok && stream == 0 && sequence == helloSequence: // not counted
		return false, nil
	case !ok || stream != l.stream || sequence > l.sequence:
		l.strange.Add(1)
		return false, nil
	case sequence < l.sequence:
		l.late.Add(1)
		return false, nil
	}
	if sequence < l.ping.params.VerifyMessages {
		if !bytes.Equal(echo, l.request) {
			return false, fmt.Errorf("lane %d: the echo of request %d is wrong", l.stream, sequence)
		}
		l.ping.verified(echo)
	}
	l.messages.Add(1)
	l.record(receivedNs)
	l.sequence++
	return true, nil
}

// record records an echo that arrived within the measured window.
func (l *Lane) record(receivedNs int64) {
	if !l.ping.measured(receivedNs) {
		return
	}
	if l.ping.schedule.paced() {
		l.shard.open(l.dueNs, l.sentNs, receivedNs)
	} else {
		l.shard.closed(l.sentNs, receivedNs)
	}
}

// TimeoutNs returns when the outstanding request will be lost.
func (l *Lane) TimeoutNs() int64 { return l.sentNs + l.ping.timeoutNs }

// Lost reports whether the request has timed out; the lane then continues with the next one.
func (l *Lane) Lost(nowNs int64) bool {
	if nowNs < l.TimeoutNs() {
		return false
	}
	l.lost.Add(1)
	l.sequence++
	return true
}
